# A program builds from one plain compile line: no build system, no other dependency, no warning.
#   cmake -DCOMPILER=g++ -DFLAGS=... -DSOURCE=<file> -DINCLUDE=<root>/include -DOUTPUT=<file> -P plain_compile.cmake
cmake_minimum_required(VERSION 3.22)
function(fail text) # message(FATAL_ERROR) alone would wrap the lines
  message("${text}")
  message(FATAL_ERROR "failed")
endfunction()

separate_arguments(FLAGS)
execute_process(COMMAND ${COMPILER} ${FLAGS} -I ${INCLUDE} ${SOURCE} -o ${OUTPUT}
                RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(NOT status EQUAL 0)
  fail("${SOURCE} does not compile:\n${output}")
endif()
if(NOT output STREQUAL "")
  fail("${SOURCE} compiles, but not silently:\n${output}")
endif()
file(REMOVE ${OUTPUT})
