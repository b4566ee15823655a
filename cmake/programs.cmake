# How our own programs (tests, examples, benchmarks) are built. Nothing here reaches a consumer.
include(CheckCXXCompilerFlag)

if(PROJECT_IS_TOP_LEVEL)
  if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "Release, Debug, RelWithDebInfo or MinSizeRel" FORCE)
  endif()
  find_program(KERN_CCACHE ccache)
  if(KERN_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
    set(CMAKE_CXX_COMPILER_LAUNCHER ${KERN_CCACHE})
  endif()
endif()

set(CMAKE_CXX_EXTENSIONS OFF)

set(KERN_WARNINGS -Wall -Wextra -Wpedantic -Wconversion -Wshadow)

add_library(kern_program INTERFACE)
target_link_libraries(kern_program INTERFACE kern::kern)
target_compile_options(kern_program INTERFACE ${KERN_WARNINGS} $<$<BOOL:${KERN_WERROR}>:-Werror>)
if(KERN_NATIVE)
  check_cxx_compiler_flag(-march=native KERN_HAS_MARCH_NATIVE)
  if(KERN_HAS_MARCH_NATIVE)
    target_compile_options(kern_program INTERFACE -march=native)
  endif()
endif()

# kern_format_of(NAME FORMAT BUILT): the program files_<format> needs kern::<format>, if there is such a file format; BUILT is
# whether that is offered.
function(kern_format_of name format built)
  set(${format} "" PARENT_SCOPE)
  set(${built} TRUE PARENT_SCOPE)
  string(REGEX REPLACE "^files_" "" part ${name})
  string(TOUPPER KERN_${part} wanted)
  if(NOT part STREQUAL name AND DEFINED ${wanted})
    set(${format} kern::${part} PARENT_SCOPE)
    set(${built} ${${wanted}} PARENT_SCOPE)
  endif()
endfunction()
