# Compiles a program of libFuzzer's and runs it for a while, from the inputs that are kept in corpus/<name> and those in SEEDS.
#   cmake -DCOMPILER=clang++ -DNAME=idx -DINCLUDE=<root>/include -DSCRATCH=<folder> -DSECONDS=20 [-DSEEDS=<folder>]
#         [-DLIBRARY=<name>] [-DRUNS=<most>] -P run.cmake
# An input that fails stays in SCRATCH; so do those that reach new code (in SCRATCH/corpus).
cmake_minimum_required(VERSION 3.22)
set(here ${CMAKE_CURRENT_LIST_DIR})
file(REMOVE_RECURSE ${SCRATCH})
file(MAKE_DIRECTORY ${SCRATCH}/corpus)

set(library "")
if(DEFINED LIBRARY)
  set(library -l${LIBRARY})
endif()
set(optimised -O1)
if(SECONDS LESS 10) # most of which would go into compiling
  set(optimised -O0)
endif()
execute_process(
  COMMAND ${COMPILER} -std=c++20 ${optimised} -g -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all -D_GLIBCXX_ASSERTIONS
          -I ${INCLUDE} -I ${here}/.. ${here}/${NAME}_fuzz.cpp -pthread -o ${SCRATCH}/fuzz
          ${library}
  RESULT_VARIABLE status)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "${NAME}_fuzz.cpp does not compile")
endif()

set(options -max_total_time=${SECONDS} -timeout=10 -rss_limit_mb=2048 -malloc_limit_mb=512 -print_final_stats=1
            -artifact_prefix=${SCRATCH}/ -verbosity=0)
if(DEFINED RUNS)
  list(APPEND options -runs=${RUNS})
endif()
if(EXISTS ${here}/${NAME}.dict)
  list(APPEND options -dict=${here}/${NAME}.dict)
endif()
execute_process(COMMAND ${SCRATCH}/fuzz ${options} ${SCRATCH}/corpus ${here}/corpus/${NAME} ${SEEDS} RESULT_VARIABLE status)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "found an input that is neither read nor refused: it is in ${SCRATCH}")
endif()
