// A user's LeNet trainer in dlib (net A): the translation unit whose compile time is measured.
// usage: dlib_trainer MNIST_DIR [epochs=1]
#include <dlib/data_io.h>
#include <dlib/dnn.h>
#include <chrono>
#include <iostream>
using namespace dlib;
template <int K, int N, class S>
using valid_con = add_layer<con_<K, N, N, 1, 1, 0, 0>, S>;
template <template <class> class DROP>
using lenet = loss_multiclass_log<fc<
    10,
    DROP<relu<fc<128, DROP<max_pool<
                          2, 2, 2, 2,
                          relu<valid_con<32, 3, relu<valid_con<16, 3, input<matrix<unsigned char>>>>>>>>>>>>>;
int main(int argc, char** argv) {
  if (argc < 2) return 2;
  std::vector<matrix<unsigned char>> x, tx;
  std::vector<unsigned long> y, ty;
  load_mnist_dataset(argv[1], x, y, tx, ty);
  lenet<dropout> net;
  dnn_trainer<lenet<dropout>, sgd> trainer(net, sgd(0, 0.5f));
  trainer.set_learning_rate(0.01);
  trainer.set_mini_batch_size(64);
  trainer.set_max_num_epochs(argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 1);
  auto t = std::chrono::steady_clock::now();
  trainer.train(x, y);
  std::cout << "train " << std::chrono::duration<double>(std::chrono::steady_clock::now() - t).count()
            << " s\n";
  net.clean();
  lenet<multiply> infer = net;
  auto p = infer(tx);
  long ok = 0;
  for (size_t i = 0; i < p.size(); i++) ok += p[i] == ty[i];
  std::cout << "test accuracy " << double(ok) / double(p.size()) << '\n';
}
