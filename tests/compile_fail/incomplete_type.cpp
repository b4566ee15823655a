// error: linear_in_features_mismatch at_layer<7> expects<4608> gets<800>
// The mechanism behind every shape error, on its own: an incomplete type that names the numbers, asked for
// its size in a base class, so that nothing behind the first mismatch is looked at.
template <int>
struct at_layer;
template <int>
struct expects;
template <int>
struct gets;
template <class...>
struct linear_in_features_mismatch;

template <class T>
struct complaint {
  using type = T;
};
template <>
struct complaint<void> {
  using type = char;
};

template <int Given>
struct ShapeFault {
  using type = linear_in_features_mismatch<at_layer<7>, expects<4608>, gets<Given>>;
};
template <>
struct ShapeFault<4608> {
  using type = void;
};

template <int Given>
struct Checked {
  static_assert(sizeof(typename complaint<typename ShapeFault<Given>::type>::type));
};
template <int Given>
struct Model : Checked<Given> {};

#ifdef FIXED
Model<4608> model;
#else
Model<800> model;
#endif
