# directions.cmake finds each kind of wrong include, seeded into a copy of the headers.
#   cmake -DINCLUDE=<root>/include -DSCRATCH=<folder> -P directions_self_check.cmake
cmake_minimum_required(VERSION 3.22)
function(fail text) # message(FATAL_ERROR) alone would wrap the lines
  message("${text}")
  message(FATAL_ERROR "failed")
endfunction()

function(expect_complaint file text complaint)
  file(REMOVE_RECURSE ${SCRATCH})
  file(COPY ${INCLUDE}/kern DESTINATION ${SCRATCH})
  file(APPEND ${SCRATCH}/kern/${file} "${text}\n")
  execute_process(COMMAND ${CMAKE_COMMAND} -DINCLUDE=${SCRATCH} -P ${CMAKE_CURRENT_LIST_DIR}/directions.cmake
                  RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  string(FIND "${output}" "${complaint}" found)
  if(status EQUAL 0 OR found EQUAL -1)
    fail("'${text}' in ${file} should give '${complaint}', but gave ${status}:\n${output}")
  endif()
endfunction()

expect_complaint(core/known.hpp "#include \"../ops/relu.hpp\"" "core comes before ops")
expect_complaint(core/known.hpp "#  include <kern/ops/relu.hpp>" "core comes before ops")
expect_complaint(ops/relu.hpp "#include \"../nn/relu.hpp\"" "ops comes before nn")
expect_complaint(ops/relu.hpp "#include \"nowhere.hpp\"" "does not exist")
expect_complaint(misc/new.hpp "#pragma once" "has no place in the order")
file(REMOVE_RECURSE ${SCRATCH})
