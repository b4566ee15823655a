// error: linear_in_features_mismatch at_layer<7> fc1 expects<4608> gets<800>
// A widely read tutorial's slip: 32 * 5 * 5 where 32 * 12 * 12 belongs, and fc2 misfits as well.
#include <kern/graph/model.hpp>
#include <kern/nn/nn.hpp>
using namespace kern;
using namespace kern::nn;

#ifdef FIXED
using Net =
    Sequential<Conv2d<1, 16, 3>, ReLU, Conv2d<16, 32, 3>, ReLU, MaxPool2d<2>, Dropout2d<0.25>, Flatten,
               Named<"fc1", Linear<32 * 12 * 12, 128>>, ReLU, Dropout<0.5>, Linear<128, 10>, LogSoftmax>;
#else
using Net =
    Sequential<Conv2d<1, 16, 3>, ReLU, Conv2d<16, 32, 3>, ReLU, MaxPool2d<2>, Dropout2d<0.25>, Flatten,
               Named<"fc1", Linear<32 * 5 * 5, 128>>, ReLU, Dropout<0.5>, Linear<64, 10>, LogSoftmax>;
#endif

int main() { Model<Net, Input<1, 28, 28>> model; }
