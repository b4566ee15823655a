// What is wrong with a net: plain data, so that one rule serves the compiler and the run time. At compile
// time it becomes an incomplete type that carries its numbers, for a compiler's message can't hold any before
// C++26:
//   error: ... 'linear_in_features_mismatch<at_layer<7>, named<"fc1">, expects<4608>, gets<800>>'
//   error: ... 'add_branches_differ_in_shape<at_layer<3>, named<"block">, along::height, expects<14>,
//               gets<28>, expects_shape<32, 14, 14>, gets_shape<32, 28, 28>>'
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

#include "text.hpp"

namespace kern {

/// The kinds of misfit. `expects` is what fits at this place of the net, `gets` what the layer was declared
/// with.
enum class Mismatch {
  none,
  conv_in_channels,          // channels of the input; In of the layer
  conv_needs_image,          // dimensions of a sample (channels, height, width): 3; 1 after Flatten
  conv_in_groups,            // channels of the input; groups, which don't divide them
  conv_out_groups,           // the same of the output
  pool_needs_image,          // the same
  window_larger_than_input,  // an extent of the input with its padding; the window's
  linear_needs_flatten,      // dimensions of a sample: 1; 3 of an image
  linear_in_features,        // features of the input; In of the layer
  loss_needs_flat_output,    // dimensions of the net's output: 1; 3 of an image
  loss_classes,              // outputs of the net; classes of the loss
  loss_targets_shape,        // an extent of the output; of a batch's targets
  too_large,                 // elements, in millions: at most; of a sample or weight
  norm_features,             // channels, or features of a flat input; those of the layer
  norm_needs_image,          // dimensions of a sample: 3; 1 after Flatten
  norm_needs_flat,           // dimensions of a sample: 1; 3 of an image
  layer_norm_dimensions,     // dimensions of a sample; of the normalised shape
  layer_norm_shape,          // an extent of the input; of the normalised shape
  embedding_needs_flat,      // dimensions of a sample: 1; 3 of an image
  embedding_not_first,       // layers before it: 0; how many there are
  batch_shape,               // an extent of the net's input; of a batch's samples
  residual_shape,            // an extent of x; of f(x)
  add_shape,                 // an extent of the first branch; of the next one
  concat_shape,              // the same
};

/// Which extent of two shapes is the first that differs; `dimensions`: how many extents they have.
enum class ShapeExtent { none, dimensions, features, channels, height, width };
namespace detail {
/// Extent i of a sample of so many dimensions, 1 or 3.
constexpr ShapeExtent extent_at(int dimensions, int i) {
  return dimensions == 1 ? ShapeExtent::features : ShapeExtent(int(ShapeExtent::channels) + i);
}
}  // namespace detail

/// A misfit, the layer (counted from 0 over all layers, those of nested Sequentials too) and the two numbers.
struct ShapeFault {
  Mismatch kind = Mismatch::none;
  int layer = -1, expects = 0, gets = 0;
  ShapeExtent extent = ShapeExtent::none;  // where the kind does not say what the numbers are of
};

/// A layer's dotted name, as in PyTorch's state_dict: "features.conv1", or "3".
struct LayerPath {
  static constexpr std::size_t capacity = 96;
  char text[capacity]{};
  std::size_t size = 0;
  bool cut = false;  // it was longer: such a net is refused
  constexpr std::string_view view() const { return {text, size}; }
  constexpr void append(const char* s, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) {
      if (size + 1 == capacity) {
        cut = true;
        return;
      }
      text[size++] = s[i];
    }
  }
};

// The words of a compile error. Never defined.
template <int Layer>
struct at_layer;
template <auto Name>
struct named;
template <int Number>
struct expects;
template <int Number>
struct gets;
template <int... Extents>
struct expects_shape;
template <int... Extents>
struct gets_shape;
namespace along {
struct dimensions;
struct features;
struct channels;
struct height;
struct width;
}  // namespace along
template <class...>
struct conv_in_channels_mismatch;
template <class...>
struct conv_needs_an_image_not_a_flat_input;
template <class...>
struct conv_in_channels_not_divisible_by_groups;
template <class...>
struct conv_out_channels_not_divisible_by_groups;
template <class...>
struct pool_needs_an_image_not_a_flat_input;
template <class...>
struct window_larger_than_input;
template <class...>
struct linear_needs_a_flatten_before_it;
template <class...>
struct linear_in_features_mismatch;
template <class...>
struct loss_needs_a_flat_output;
template <class...>
struct loss_classes_mismatch;
template <class...>
struct loss_targets_shape_mismatch;
template <class...>
struct too_large_in_millions_of_elements;
template <class...>
struct norm_features_mismatch;
template <class...>
struct norm_needs_an_image_not_a_flat_input;
template <class...>
struct norm_1d_needs_a_flat_input_not_an_image;
template <class...>
struct layer_norm_dimensions_mismatch;
template <class...>
struct layer_norm_shape_mismatch;
template <class...>
struct embedding_needs_a_flat_input;
template <class...>
struct embedding_is_not_the_first_layer;
template <class...>
struct batch_shape_mismatch;
template <class...>
struct residual_layers_change_the_shape;
template <class...>
struct add_branches_differ_in_shape;
template <class...>
struct concat_branches_differ_in_more_than_channels;

namespace detail {

template <std::size_t N>
struct Text {
  char text[N]{};
};

template <Mismatch Kind, class... Words>
constexpr auto complain() {
  if constexpr (Kind == Mismatch::conv_in_channels)
    return static_cast<conv_in_channels_mismatch<Words...>*>(nullptr);
  else if constexpr (Kind == Mismatch::conv_needs_image)
    return static_cast<conv_needs_an_image_not_a_flat_input<Words...>*>(nullptr);
  else if constexpr (Kind == Mismatch::conv_in_groups)
    return static_cast<conv_in_channels_not_divisible_by_groups<Words...>*>(nullptr);
  else if constexpr (Kind == Mismatch::conv_out_groups)
    return static_cast<conv_out_channels_not_divisible_by_groups<Words...>*>(nullptr);
  else if constexpr (Kind == Mismatch::pool_needs_image)
    return static_cast<pool_needs_an_image_not_a_flat_input<Words...>*>(nullptr);
  else if constexpr (Kind == Mismatch::window_larger_than_input)
    return static_cast<window_larger_than_input<Words...>*>(nullptr);
  else if constexpr (Kind == Mismatch::linear_needs_flatten)
    return static_cast<linear_needs_a_flatten_before_it<Words...>*>(nullptr);
  else if constexpr (Kind == Mismatch::linear_in_features)
    return static_cast<linear_in_features_mismatch<Words...>*>(nullptr);
  else if constexpr (Kind == Mismatch::loss_needs_flat_output)
    return static_cast<loss_needs_a_flat_output<Words...>*>(nullptr);
  else if constexpr (Kind == Mismatch::loss_classes)
    return static_cast<loss_classes_mismatch<Words...>*>(nullptr);
  else if constexpr (Kind == Mismatch::loss_targets_shape)
    return static_cast<loss_targets_shape_mismatch<Words...>*>(nullptr);
  else if constexpr (Kind == Mismatch::too_large)
    return static_cast<too_large_in_millions_of_elements<Words...>*>(nullptr);
  else if constexpr (Kind == Mismatch::norm_features)
    return static_cast<norm_features_mismatch<Words...>*>(nullptr);
  else if constexpr (Kind == Mismatch::norm_needs_image)
    return static_cast<norm_needs_an_image_not_a_flat_input<Words...>*>(nullptr);
  else if constexpr (Kind == Mismatch::norm_needs_flat)
    return static_cast<norm_1d_needs_a_flat_input_not_an_image<Words...>*>(nullptr);
  else if constexpr (Kind == Mismatch::layer_norm_dimensions)
    return static_cast<layer_norm_dimensions_mismatch<Words...>*>(nullptr);
  else if constexpr (Kind == Mismatch::layer_norm_shape)
    return static_cast<layer_norm_shape_mismatch<Words...>*>(nullptr);
  else if constexpr (Kind == Mismatch::embedding_needs_flat)
    return static_cast<embedding_needs_a_flat_input<Words...>*>(nullptr);
  else if constexpr (Kind == Mismatch::embedding_not_first)
    return static_cast<embedding_is_not_the_first_layer<Words...>*>(nullptr);
  else if constexpr (Kind == Mismatch::batch_shape)
    return static_cast<batch_shape_mismatch<Words...>*>(nullptr);
  else if constexpr (Kind == Mismatch::residual_shape)
    return static_cast<residual_layers_change_the_shape<Words...>*>(nullptr);
  else if constexpr (Kind == Mismatch::add_shape)
    return static_cast<add_branches_differ_in_shape<Words...>*>(nullptr);
  else if constexpr (Kind == Mismatch::concat_shape)
    return static_cast<concat_branches_differ_in_more_than_channels<Words...>*>(nullptr);
  else
    return static_cast<char*>(nullptr);
}

template <class... W>
struct Words {};
template <ShapeFault F, auto Name>
constexpr auto place_words() {
  if constexpr (F.layer < 0)
    return Words<>();
  else if constexpr (sizeof Name.text == 1)
    return Words<at_layer<F.layer>>();
  else
    return Words<at_layer<F.layer>, named<Name>>();
}
template <ShapeExtent E>
constexpr auto extent_words() {
  if constexpr (E == ShapeExtent::dimensions)
    return Words<along::dimensions>();
  else if constexpr (E == ShapeExtent::features)
    return Words<along::features>();
  else if constexpr (E == ShapeExtent::channels)
    return Words<along::channels>();
  else if constexpr (E == ShapeExtent::height)
    return Words<along::height>();
  else if constexpr (E == ShapeExtent::width)
    return Words<along::width>();
  else
    return Words<>();
}
/// Where nothing more is known than a ShapeFault says.
struct NoShapes {
  using words = Words<>;
};
/// A char, or something of the incomplete type that says what is wrong with F: fit for sizeof in a
/// static_assert. Name: the layer's, Text<1> if it has none. Shapes::words: of both shapes as a whole.
template <ShapeFault F, auto Name, class Shapes>
constexpr auto complaint() {
  if constexpr (F.kind == Mismatch::none)
    return static_cast<char*>(nullptr);
  else
    return []<class... A, class... B, class... C>(Words<A...>, Words<B...>, Words<C...>) {
      return complain<F.kind, A..., B..., expects<F.expects>, gets<F.gets>, C...>();
    }(place_words<F, Name>(), extent_words<F.extent>(), typename Shapes::words());
}

}  // namespace detail

/// "Linear expects in_features" and the like, for a ShapeError.
constexpr const char* mismatch_text(Mismatch kind) {
  switch (kind) {
    case Mismatch::none:
      return "nothing is wrong";
    case Mismatch::conv_in_channels:
      return "in_channels of the convolution";
    case Mismatch::conv_needs_image:
      return "a convolution needs an image; dimensions of a sample";
    case Mismatch::conv_in_groups:
      return "in_channels of the convolution are not divisible by its groups: a divisor of in_channels";
    case Mismatch::conv_out_groups:
      return "out_channels of the convolution are not divisible by its groups: a divisor of out_channels";
    case Mismatch::pool_needs_image:
      return "a pooling needs an image; dimensions of a sample";
    case Mismatch::window_larger_than_input:
      return "the window is larger than its input";
    case Mismatch::linear_needs_flatten:
      return "a linear layer needs a Flatten before it; dimensions of a sample";
    case Mismatch::linear_in_features:
      return "in_features of the linear layer";
    case Mismatch::loss_needs_flat_output:
      return "the loss needs a flat output; dimensions of a sample";
    case Mismatch::loss_classes:
      return "classes of the loss";
    case Mismatch::loss_targets_shape:
      return "targets of the loss";
    case Mismatch::too_large:
      return "too large, in millions of elements of a sample or weight; at most";
    case Mismatch::norm_features:
      return "num_features of the normalisation";
    case Mismatch::norm_needs_image:
      return "a 2-D normalisation needs an image; dimensions of a sample";
    case Mismatch::norm_needs_flat:
      return "a 1-D normalisation needs a Flatten before it; dimensions of a sample";
    case Mismatch::layer_norm_dimensions:
      return "dimensions of a layer normalisation's shape";
    case Mismatch::layer_norm_shape:
      return "a layer normalisation's shape";
    case Mismatch::embedding_needs_flat:
      return "an embedding needs a flat input of indices; dimensions of a sample";
    case Mismatch::embedding_not_first:
      return "an embedding is the first layer; layers before it";
    case Mismatch::batch_shape:
      return "a batch's samples";
    case Mismatch::residual_shape:
      return "the layers of a Residual change the shape";
    case Mismatch::add_shape:
      return "the branches of an Add differ";
    case Mismatch::concat_shape:
      return "the branches of a Concat differ";
  }
  return "";
}

namespace detail {
constexpr const char* extent_text(ShapeExtent e) {
  constexpr const char* texts[] = {"", "dimensions", "features", "channels", "height", "width"};
  return texts[int(e)];
}
/// "in_features of the linear layer: expected 800, got 784"; "the branches of an Add differ: height: expected
/// 14, got 28".
[[gnu::cold]] inline std::string fault_text(const ShapeFault& f) {
  return text(mismatch_text(f.kind), f.extent == ShapeExtent::none ? "" : ": ", extent_text(f.extent),
              ": expected ", f.expects, ", got ", f.gets);
}
}  // namespace detail

}  // namespace kern
