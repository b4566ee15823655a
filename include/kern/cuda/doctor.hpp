// What stands between a program and its GPU: a verdict, from facts alone. Needs no CUDA toolkit; facts.hpp
// gathers the facts. The rules are those of NVIDIA's "CUDA Compatibility" and of the release history in its
// "PTX ISA".
#pragma once
#include <cstddef>
#include <cstdio>
#include <string>
#include <vector>

#include "../core/text.hpp"

namespace kern {

/// Machine code (SASS) for one architecture, or PTX, from which the driver makes machine code.
struct CudaImage {
  bool ptx = false;
  int architecture = 0;  ///< 75 for sm_75 or compute_75
  char suffix = 0;       ///< 'a' (sm_90a: that GPU only) or 'f' (sm_100f: its family), or 0
  int isa = 0;           ///< of PTX: the version of its language, 85 for 8.5; 0: unknown
  friend bool operator==(const CudaImage&, const CudaImage&) = default;
};

struct CudaDevice {
  std::string name;
  int capability = 0;      ///< compute capability, 90 for 9.0
  std::size_t memory = 0;  ///< in bytes
};

/// Versions are as CUDA counts them: 12040 for 12.4.
struct CudaFacts {
  bool built = false;             ///< with nvcc; if not, nothing else here is known
  int toolkit = 0;                ///< that compiled this program
  int runtime = 0;                ///< of the runtime library that it runs with
  std::string driver;             ///< the driver's own version, "580.65.06"; empty: unknown
  int driver_cuda = 0;            ///< the newest CUDA that it supports; 0: no driver
  std::vector<CudaImage> images;  ///< what this program was compiled for; empty: unknown
  std::vector<CudaDevice> devices;
  std::string error;  ///< what the runtime says if it can't list devices
};

struct Verdict {
  enum class Kind {
    all_well,
    ptx_only,  ///< works: the driver compiles the program's PTX when it starts
    built_without_cuda,
    no_driver,
    driver_too_old,  ///< of an older major version than the toolkit
    driver_error,    ///< the driver is there, but does not work
    no_device,
    device_out_of_range,
    device_too_old,  ///< older than all that the program was compiled for
    no_image,        ///< not older, but there is no SASS for it, and no PTX
    ptx_too_new      ///< there is only PTX for it, newer than what the driver can compile
  };
  Kind kind = Kind::all_well;
  std::string text;    ///< one line
  std::string remedy;  ///< what to do, one line; empty if there is nothing to do

  /// CUDA programs run on this device.
  bool usable() const { return kind == Kind::all_well || kind == Kind::ptx_only; }
};

/// The name of a kind, as in the documents: "ptx_too_new".
inline const char* to_string(Verdict::Kind kind) {
  static const char* const names[] = {
      "all_well",       "ptx_only",     "built_without_cuda", "no_driver",
      "driver_too_old", "driver_error", "no_device",          "device_out_of_range",
      "device_too_old", "no_image",     "ptx_too_new"};
  return names[int(kind)];
}

/// The two versions that are so easily confused, in two sentences.
inline constexpr const char* cuda_versions_explained =
    "The driver's CUDA (`nvidia-smi` shows it) is the newest CUDA that the installed driver can run. The "
    "toolkit's "
    "CUDA\n(`nvcc --version` shows it) is the one that compiles programs: an older one always works, a newer "
    "one "
    "within the same\nmajor version.";

namespace detail {

/// 12040 -> "12.4"
inline std::string cuda_text(int version) { return text(version / 1000, ".", version % 1000 / 10); }
/// 90 -> "9.0"
inline std::string tenths(int n) { return text(n / 10, ".", n % 10); }

inline std::string image_text(const CudaImage& i) {
  const char suffix[] = {i.suffix, 0};
  return text(i.ptx ? "compute_" : "sm_", i.architecture, suffix);
}

/// The newest PTX language that a driver of this CUDA compiles: 12.4 has 8.4, 12.6 has 8.5, 13.0 has 9.0.
inline int newest_isa(int driver_cuda) {
  const int major = driver_cuda / 1000, minor = driver_cuda % 1000 / 10;
  if (major >= 13) return (major - 4) * 10 + minor;
  if (major == 12) return 80 + minor - (minor > 5);  // 12.5 and 12.6 have the same
  if (major == 11) return 70 + minor;
  return major == 10 ? 63 + minor : 60;
}
/// The first CUDA whose driver compiles it.
inline int cuda_of_isa(int isa) {
  const int major = isa / 10, minor = isa % 10;
  return (major + 4) * 1000 + (major == 8 && minor > 5 ? minor + 1 : minor) * 10;
}

/// A device of this capability can run it, given a driver that can.
inline bool serves(const CudaImage& i, int capability) {
  if (i.suffix == 'a') return i.architecture == capability;
  const bool family = i.architecture / 10 == capability / 10;
  return i.architecture <= capability && (family || (i.ptx && !i.suffix));
}

/// The oldest driver for a major version of CUDA on Linux; 0: not in the table.
inline int least_driver(int cuda) {
  return cuda / 1000 == 13 ? 580 : cuda / 1000 == 12 ? 525 : cuda / 1000 == 11 ? 450 : 0;
}
/// The oldest architecture that a toolkit compiles for.
inline int least_architecture(int toolkit) {
  return toolkit >= 13000 ? 75 : toolkit >= 12000 ? 50 : toolkit >= 11000 ? 35 : 30;
}

/// The newest one.
inline int newest_architecture(int toolkit) {
  return toolkit >= 12090 ? 121 : toolkit >= 12080 ? 120 : toolkit >= 11080 ? 90 : toolkit >= 11010 ? 86 : 80;
}

inline std::string device_text(const CudaFacts& f, int device) {
  const CudaDevice& d = f.devices[std::size_t(device)];
  return text("device ", device, ", ", d.name, " (compute capability ", tenths(d.capability), ")");
}
/// "sm_75 sm_80", those of one sort.
inline std::string images_text(const CudaFacts& f, bool ptx) {
  std::string all;
  for (const CudaImage& i : f.images)
    if (i.ptx == ptx) all += text(all.empty() ? "" : " ", image_text(i));
  return all;
}
/// With a capital at its beginning.
inline std::string sentence(std::string s) {
  if (s[0] >= 'a' && s[0] <= 'z') s[0] = char(s[0] - 'a' + 'A');
  return s;
}
inline std::string compile_again(const CudaFacts& f, int capability) {
  if (capability < least_architecture(f.toolkit))
    return text("compile with an older toolkit (CUDA ", cuda_text(f.toolkit), " has left sm_", capability,
                " behind) and -arch=sm_", capability, ".");
  return text("compile it for this GPU: nvcc -arch=sm_", capability,
              " (CMake: CMAKE_CUDA_ARCHITECTURES=", capability, ")",
              capability > newest_architecture(f.toolkit)
                  ? text(", with a toolkit newer than CUDA ", cuda_text(f.toolkit))
                  : "",
              ".");
}

inline Verdict diagnose_image(const CudaFacts& f, int device) {
  using Kind = Verdict::Kind;
  const int capability = f.devices[std::size_t(device)].capability;
  const std::string name = device_text(f, device);
  const std::string older =
      f.driver_cuda < f.toolkit
          ? text(" The driver's CUDA ", cuda_text(f.driver_cuda), " is older than the toolkit's ",
                 cuda_text(f.toolkit), ": that works within a major version.")
          : "";
  if (f.images.empty()) return {Kind::all_well, text("CUDA works on ", name, ".", older), ""};
  const CudaImage *sass = nullptr, *ptx = nullptr, *too_new = nullptr;
  bool all_newer = true;
  for (const CudaImage& i : f.images) {
    all_newer = all_newer && i.architecture > capability;
    if (!serves(i, capability)) continue;
    const CudaImage*& best = !i.ptx ? sass : i.isa <= newest_isa(f.driver_cuda) ? ptx : too_new;
    if (!best || i.architecture > best->architecture) best = &i;
  }
  if (sass)
    return {Kind::all_well,
            text("CUDA works on ", name, ", with this program's ", image_text(*sass), ".", older), ""};
  if (ptx)
    return {Kind::ptx_only,
            text("CUDA works on ", name, ": the driver compiles this program's PTX, ", image_text(*ptx),
                 ", when it first starts.", older),
            text("To start faster, ", compile_again(f, capability))};
  if (too_new)
    return {Kind::ptx_too_new,
            text("This program has only PTX for ", name, ", of version ", tenths(too_new->isa),
                 ", and the driver (CUDA ", cuda_text(f.driver_cuda), ") compiles none newer than ",
                 tenths(newest_isa(f.driver_cuda)), "."),
            text("Install a driver for CUDA ", cuda_text(cuda_of_isa(too_new->isa)), " or newer, or ",
                 compile_again(f, capability))};
  const std::string has_sass = images_text(f, false), has_ptx = images_text(f, true);
  const std::string has = text(has_sass, !has_sass.empty() && !has_ptx.empty() ? " " : "", has_ptx);
  if (all_newer)
    return {Kind::device_too_old,
            sentence(text(name, " is older than all that this program was compiled for: ", has, ".")),
            sentence(compile_again(f, capability))};
  return {Kind::no_image,
          text("This program has nothing for ", name, ": it was compiled for ", has, " only."),
          sentence(compile_again(f, capability))};
}

inline Verdict built_without_cuda() {
  return {Verdict::Kind::built_without_cuda, "This program was built without CUDA.",
          "Compile it with nvcc: nvcc -std=c++20 -x cu (CMake: link kern::cuda)."};
}
}  // namespace detail

/// Whether device number `device` can run this program, and if not, what to do. The first thing that is wrong
/// counts.
inline Verdict diagnose(const CudaFacts& f, int device = 0) {
  using Kind = Verdict::Kind;
  using detail::cuda_text;
  if (!f.built) return detail::built_without_cuda();
  const int needed = f.runtime ? f.runtime : f.toolkit;  // the runtime library asks the driver
  const int least = detail::least_driver(needed);
  const std::string update = least ? text("Install an NVIDIA driver, version ", least, " or newer (Linux)")
                                   : text("Install an NVIDIA driver for CUDA ", needed / 1000, ".0 or newer");
  if (f.driver_cuda == 0)
    return {Kind::no_driver, "There is no NVIDIA driver here.",
            text(update, "; in a container, start it with its GPUs (docker run --gpus all).")};
  if (f.driver_cuda / 1000 < needed / 1000)
    return {Kind::driver_too_old,
            text("The driver's CUDA ", cuda_text(f.driver_cuda), " is too old for this program, which needs ",
                 cuda_text(needed), "."),
            text(update, ", or compile with a toolkit of CUDA ", f.driver_cuda / 1000, ".")};
  if (!f.error.empty())
    return {Kind::driver_error,
            text("The driver (CUDA ", cuda_text(f.driver_cuda), ") reports: ", f.error, "."),
            "See whether nvidia-smi works; after an update of the driver, restart the machine."};
  if (f.devices.empty())
    return {Kind::no_device, "The driver finds no GPU.",
            "See what nvidia-smi lists, and whether CUDA_VISIBLE_DEVICES hides it."};
  if (device < 0 || std::size_t(device) >= f.devices.size())
    return {Kind::device_out_of_range,
            text("Device ", device, " was asked for; expected 0 to ", f.devices.size() - 1, ": there ",
                 f.devices.size() == 1 ? "is " : "are ", f.devices.size(), "."),
            text("Choose one of 0 to ", f.devices.size() - 1, ".")};
  return detail::diagnose_image(f, device);
}

/// All facts, a line each, the two versions explained, and the verdict on device number `device`.
inline std::string report(const CudaFacts& f, int device = 0) {
  using detail::cuda_text;
  std::string s;
  const auto line = [&](const char* what, const std::string& is) { s += text(what, is, "\n"); };
  if (f.built) {
    line("driver:        ", f.driver_cuda == 0 ? "none"
                                               : text(f.driver.empty() ? "version unknown" : f.driver,
                                                      ", supports CUDA ", cuda_text(f.driver_cuda)));
    line("toolkit:       ",
         text("CUDA ", cuda_text(f.toolkit), ", compiled this program",
              f.runtime != f.toolkit && f.runtime ? text("; its runtime library is ", cuda_text(f.runtime))
                                                  : ""));
    const std::string sass = detail::images_text(f, false), ptx = detail::images_text(f, true);
    line("compiled for:  ", f.images.empty() ? "unknown"
                                             : text("SASS ", sass.empty() ? "none" : sass, "; PTX ",
                                                    ptx.empty() ? "none" : ptx));
    for (std::size_t i = 0; i < f.devices.size(); ++i) {
      char gib[32];
      std::snprintf(gib, sizeof gib, "%.1f", double(f.devices[i].memory) / (1 << 30));
      line("", text("device ", i, ":      ", f.devices[i].name, ", compute capability ",
                    detail::tenths(f.devices[i].capability), ", ", gib, " GiB"));
    }
    if (f.devices.empty()) line("devices:       ", "none");
    s += text("\n", cuda_versions_explained, "\n\n");
  }
  const Verdict v = diagnose(f, device);
  line("verdict:       ", v.text);
  if (!v.remedy.empty()) line("what to do:    ", v.remedy);
  return s;
}

}  // namespace kern
