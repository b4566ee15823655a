# What a program gets with `using namespace kern` (and kern::nn, kern::data) is what public_names.txt lists: a name
# more may be one of the program's own, and ambiguous there.
#   cmake -DCOMPILER=clang++ -DINCLUDE=<root>/include -DLIST=public_names.txt -DSCRATCH=<folder> -P public_names.cmake
# After a change that means it: the list it left in SCRATCH is the new one.
cmake_minimum_required(VERSION 3.22)
file(MAKE_DIRECTORY ${SCRATCH})
file(WRITE ${SCRATCH}/names.cpp "#include <kern/kern.hpp>\n")
execute_process(COMMAND ${COMPILER} -std=c++20 -fsyntax-only -I ${INCLUDE} -Xclang -ast-list -Xclang
                -ast-dump-filter=kern:: ${SCRATCH}/names.cpp
                RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE errors)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "${errors}")
endif()
string(REGEX REPLACE "[^\n]*[^A-Za-z_0-9:\n][^\n]*\n" "" output "${output}") # operators and the like
string(REPLACE "\n" ";" names "${output}")
list(FILTER names INCLUDE REGEX "^kern::((nn|data)::)?[A-Za-z_0-9]+$")
# Parameters of templates are listed too.
list(FILTER names EXCLUDE REGEX "::(T|V|D|B|d|i|In|Net|Layer|Device|Model)$")
list(APPEND names kern::Model)
list(SORT names)
list(REMOVE_DUPLICATES names)
list(JOIN names "\n" text)
file(WRITE ${SCRATCH}/public_names.txt "${text}\n")

file(STRINGS ${LIST} expected)
set(more ${names})
list(REMOVE_ITEM more ${expected})
set(fewer ${expected})
list(REMOVE_ITEM fewer ${names})
if(more OR fewer)
  message(FATAL_ERROR "not in ${LIST}: ${more}\nonly in ${LIST}: ${fewer}\nthe new list: ${SCRATCH}/public_names.txt")
endif()
list(LENGTH names count)
message("${count} public names")
