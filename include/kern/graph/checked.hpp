// A net that does not fit must be the first and only error: a base class with a static_assert on an
// incomplete type.
#pragma once
#include "fold.hpp"

namespace kern {

/// The same net with every size, the input's too, known at run time only: one source, other kernels.
template <class Net>
struct erase_shapes {};

namespace graph {

template <class Net>
struct Unerased {
  using type = Net;
  static constexpr bool erased = false;
};
template <class Net>
struct Unerased<erase_shapes<Net>> {
  using type = Net;
  static constexpr bool erased = true;
};

/// A layer's dotted name, empty if it is no more than its number (which the error says anyway).
template <class Net, int Layer>
constexpr auto layer_text() {
  constexpr LayerPath path = [] {
    if constexpr (Layer < 0) {
      return LayerPath{};
    } else {
      const LayerPath p = nn::layer_paths<Net>[std::size_t(Layer)];
      int number = 0;
      for (std::size_t i = 0; i < p.size; ++i) {
        if (p.text[i] < '0' || p.text[i] > '9' || number > Layer) return p;
        number = number * 10 + (p.text[i] - '0');
      }
      return number == Layer ? LayerPath{} : p;
    }
  }();
  kern::detail::Text<path.size + 1> t;
  if constexpr (path.size > 0)
    for (std::size_t i = 0; i < path.size; ++i) t.text[i] = path.text[i];
  return t;
}

/// Refuses to be a base class where F is a misfit. Name: the layer's, as layer_text gives it.
template <ShapeFault F, auto Name, class Shapes = kern::detail::NoShapes>
struct Refused {
  static_assert(sizeof(*kern::detail::complaint<F, Name, Shapes>()));
};

/// The two shapes that don't fit: of a batch and its samples, or of the branches that a layer joins.
template <class Expected, class Got>
struct BothShapes;
template <int... E, int... G>
struct BothShapes<Shape<E...>, Shape<G...>> {
  using words = kern::detail::Words<expects_shape<E...>, gets_shape<G...>>;
};
template <class Net, class In, class Backend>
struct JoinedShapes {
 private:
  static constexpr auto& p = plan<Net, In, Backend>;
  static constexpr nn::Reads reads = nn::layer_reads<Net>[std::size_t(p.fault.layer < 0 ? 0 : p.fault.layer)];
  template <int Layer>
  static constexpr auto shape_of() {
    constexpr Dims d = Layer < 0 ? p.input : p.dims[std::size_t(Layer < 0 ? 0 : Layer)];
    if constexpr (d.flat)
      return Shape<d.size()>();
    else
      return Shape<d.c, d.h, d.w>();
  }
  static constexpr auto make() {
    if constexpr (p.fault.layer < 0 || reads.second == nn::Reads::none)
      return kern::detail::Words<>();
    else
      return
          typename BothShapes<decltype(shape_of<reads.first>()), decltype(shape_of<reads.second>())>::words();
  }

 public:
  using words = decltype(make());
};

template <class Net, class In, class Backend, bool Static = In::is_static>
struct Checked : Refused<plan<Net, In, Backend>.fault, layer_text<Net, plan<Net, In, Backend>.fault.layer>(),
                         JoinedShapes<Net, In, Backend>> {};
template <class Net, class In, class Backend>
struct Checked<Net, In, Backend, false> {};

/// Whether Net fits; if not, the compiler says why.
template <class Net, class In, class Backend>
constexpr bool fits() {
  static_assert(In::is_static, "this is known of an Input without dyn only");
  (void)sizeof(Checked<Net, In, Backend>);
  return plan<Net, In, Backend>.fault.kind == Mismatch::none;
}

/// A fact about a net that doesn't fit: equal to anything, so that the misfit is the only error.
struct Unknowable {
  template <class T>
  constexpr operator T() const {
    return T{};
  }
  template <class T>
  friend constexpr bool operator==(Unknowable, const T&) {
    return true;
  }
};

}  // namespace graph
}  // namespace kern
