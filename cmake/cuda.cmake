# nvcc for our own CUDA programs. KERN_HAS_CUDA says whether there is one. Nothing here reaches a consumer.
set(KERN_CUDA AUTO CACHE STRING "Build our CUDA tests and examples: ON, OFF, or AUTO, if there is a toolkit")
set_property(CACHE KERN_CUDA PROPERTY STRINGS AUTO ON OFF)
set(KERN_CUDA_RUNTIME "$ENV{KERN_CUDA_RUNTIME}" CACHE PATH
    "Folder of the libcudart.so to run the CUDA tests with; empty: the toolkit's")
set(KERN_CUDA_ARCHITECTURES 75-virtual CACHE STRING
    "What our CUDA programs are compiled for, as CMAKE_CUDA_ARCHITECTURES; the tests need PTX")

set(KERN_HAS_CUDA FALSE)
if(NOT KERN_CUDA)
  return()
endif()
find_package(CUDAToolkit 12 QUIET)
if(CUDAToolkit_FOUND)
  if(NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX} AND CUDAToolkit_NVCC_EXECUTABLE)
    set(ENV{CUDACXX} ${CUDAToolkit_NVCC_EXECUTABLE})
  endif()
  include(CheckLanguage)
  check_language(CUDA)
endif()
if(NOT CMAKE_CUDA_COMPILER)
  if(KERN_CUDA STREQUAL "AUTO")
    message(STATUS "No CUDA toolkit (nvcc >= 12): all but the CUDA tests and examples is built")
    return()
  endif()
  message(FATAL_ERROR "KERN_CUDA=${KERN_CUDA}, but there is no CUDA toolkit (nvcc >= 12)")
endif()
if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES ${KERN_CUDA_ARCHITECTURES})
endif()
enable_language(CUDA)
set(KERN_HAS_CUDA TRUE)
set(CMAKE_CUDA_EXTENSIONS OFF)
if(KERN_CCACHE AND NOT CMAKE_CUDA_COMPILER_LAUNCHER)
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${KERN_CCACHE})
endif()

# Not -Wpedantic: g++ gives it for every line directive that nvcc writes.
set(warnings ${KERN_WARNINGS})
list(REMOVE_ITEM warnings -Wpedantic)
list(JOIN warnings "," warnings)
add_library(kern_cuda_program INTERFACE)
target_link_libraries(kern_cuda_program INTERFACE kern::cuda)
target_compile_options(
  kern_cuda_program INTERFACE $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=${warnings}>
                              $<$<AND:$<COMPILE_LANGUAGE:CUDA>,$<BOOL:${KERN_WERROR}>>:-Werror=all-warnings
                              -Xcompiler=-Werror>)

# kern_cuda_executable(TARGET ARCHITECTURES SOURCES...): a program by nvcc. Its runtime library can be another's
# (KERN_CUDA_RUNTIME), so it is a shared one, and the PTX in it can be read.
function(kern_cuda_executable target architectures)
  add_executable(${target} ${ARGN})
  target_link_libraries(${target} PRIVATE kern_cuda_program)
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:--no-compress>)
  # --enable-new-dtags: LD_LIBRARY_PATH comes before the path in the program.
  target_link_options(${target} PRIVATE LINKER:--enable-new-dtags)
  set_target_properties(${target} PROPERTIES CUDA_ARCHITECTURES "${architectures}" CUDA_RUNTIME_LIBRARY Shared
                                             BUILD_RPATH "${CUDAToolkit_LIBRARY_DIR}")
endfunction()
