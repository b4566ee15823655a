// Layers side by side: what reads the same input, and how the outputs come together again.
#pragma once
#include <algorithm>
#include <climits>
#include <tuple>
#include <utility>

#include "sequential.hpp"

namespace kern::nn {

namespace detail {

/// How two layers' outputs become one: the layer behind the branches, which has their container's name.
template <stage::Joining How, Mismatch Kind>
struct Join {
  static constexpr Lowering lowers_to = Lowering::join;
  static constexpr stage::Joining joining = How;
  /// Flat outputs of images of different sizes are joined in PyTorch's order, as if they had been no images.
  static constexpr Rule rule(Dims a, Dims b) {
    const bool pixel_by_pixel = a.h * a.w == b.h * b.w;
    Rule r{a, {}};
    if (a.flat != b.flat)
      r.fault = {Kind, -1, a.rank(), b.rank(), ShapeExtent::dimensions};
    else if (How == stage::join_sum && a.flat && a.size() != b.size())
      r.fault = {Kind, -1, a.size(), b.size(), ShapeExtent::features};
    else if (How == stage::join_sum && !a.flat && a.c != b.c)
      r.fault = {Kind, -1, a.c, b.c, ShapeExtent::channels};
    else if (!a.flat && a.h != b.h)
      r.fault = {Kind, -1, a.h, b.h, ShapeExtent::height};
    else if (!a.flat && a.w != b.w)
      r.fault = {Kind, -1, a.w, b.w, ShapeExtent::width};
    if (a.flat && !pixel_by_pixel) r.out = {a.size(), 1, 1, true};
    if (How == stage::join_channels) {
      const long more = pixel_by_pixel || !a.flat ? b.c : b.size();
      r.out.c = int(std::min<long>(r.out.c + more, INT_MAX));
    }
    return r;
  }
  static constexpr auto parameters = no_parameters;
  static std::string repr() {
    return Kind == Mismatch::residual_shape ? "Residual(x + f(x))"
           : How == stage::join_sum         ? "Add()"
                                            : "Concat(dim=1)";
  }
};

/// Layers, paths and wires of branches that are joined two at a time.
template <class Joined, class A, class... More>
struct Branches {
  using type = decltype(std::tuple_cat(
      std::declval<typename Flat<A>::type>(),
      std::tuple_cat(std::declval<typename Flat<More>::type>(), std::declval<std::tuple<Joined>>())...));
  static constexpr LayerPath* write(LayerPath* out, LayerPath prefix) {
    int i = 0;
    out = ChildPath<A>::write(out, prefix, i++);
    ((out = ChildPath<More>::write(out, prefix, i++), *out++ = prefix), ...);
    return out;
  }
  static constexpr int write(Reads* out, int& n, int from) {
    int joined = Wires<A>::write(out, n, from);
    const auto join = [&](int branch) {
      out[n] = {joined, branch};
      joined = n++;
    };
    (join(Wires<More>::write(out, n, from)), ...);
    return joined;
  }
};
/// The same of layers whose input is added to their output.
template <class Joined, class... L>
struct Skipped {
  using type =
      decltype(std::tuple_cat(std::declval<typename Flat<L>::type>()..., std::declval<std::tuple<Joined>>()));
  static constexpr LayerPath* write(LayerPath* out, LayerPath prefix) {
    out = Paths<Sequential<L...>>::write(out, prefix);
    *out = prefix;
    return out + 1;
  }
  static constexpr int write(Reads* out, int& n, int from) {
    const int branch = Wires<Sequential<L...>>::write(out, n, from);
    out[n] = {from, branch};
    return n++;
  }
};

// As Named, known by its member.
template <class L>
concept IsBranched = requires { typename L::branches; };
template <IsBranched L>
struct Flat<L> : L::branches {};
template <IsBranched L>
struct Paths<L> : L::branches {};
template <IsBranched L>
struct Wires<L> : L::branches {};

}  // namespace detail

/// y = x + f(x), f the layers left to right, which keep the shape.
template <class... Layers>
struct Residual {
  using branches = detail::Skipped<detail::Join<stage::join_sum, Mismatch::residual_shape>, Layers...>;
};

/// y = A(x) + B(x) + ..., added in this order; a branch is a layer or a Sequential, an Identity for x itself.
/// All have the same shape.
template <class A, class B, class... More>
struct Add {
  using branches = detail::Branches<detail::Join<stage::join_sum, Mismatch::add_shape>, A, B, More...>;
};

/// The channels of A(x), then those of B(x) and so on, as torch.cat(dim=1); of flat outputs the features:
/// (C, H, W) and (C', H, W) -> (C + C', H, W).
template <class A, class B, class... More>
struct Concat {
  using branches =
      detail::Branches<detail::Join<stage::join_channels, Mismatch::concat_shape>, A, B, More...>;
};

}  // namespace kern::nn
