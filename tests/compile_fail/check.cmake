# A wrong program must not compile, and must say why in its first error line.
#   cmake -DCOMPILER=g++ -DFLAGS=... -DCASE=<file> -DINCLUDE=<root>/include [-DMAX_LINES=15] -P check.cmake
# The case names the words of that line, in its own first lines:
#   // error: linear_in_features_mismatch at_layer<7> expects<4608> gets<800>
# It must give this one error and, where MAX_LINES is given, at most so many lines in all. With FIXED defined the
# program is right and must compile silently: so the failure has the reason that the case is about.
cmake_minimum_required(VERSION 3.22)
function(fail text) # message(FATAL_ERROR) alone would wrap the lines
  message("${text}")
  message(FATAL_ERROR "failed")
endfunction()

separate_arguments(FLAGS)
file(STRINGS ${CASE} expected REGEX "^// error: " LIMIT_COUNT 1)
if(NOT expected MATCHES "^// error: (.+)$")
  fail("${CASE} has no line '// error: WORDS'")
endif()
string(REPLACE " " ";" words "${CMAKE_MATCH_1}")

# Messages in English, one a line; plain quotes.
set(ENV{LC_ALL} C)
set(compile ${COMPILER} ${FLAGS} -I ${INCLUDE} ${CASE})

execute_process(COMMAND ${compile} -DFIXED RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(NOT status EQUAL 0 OR NOT output STREQUAL "")
  fail("with FIXED, ${CASE} should compile silently; status ${status}:\n${output}")
endif()

execute_process(COMMAND ${compile} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(status EQUAL 0)
  fail("${CASE} compiles, but should not")
endif()
string(REGEX REPLACE "\n+$" "" output "${output}")
# What would cut or join list items.
string(REGEX REPLACE "[][;]" " " lines "${output}")
string(REPLACE "\n" ";" lines "${lines}")
set(errors ${lines})
list(FILTER errors INCLUDE REGEX "error:")
list(LENGTH errors count)
if(NOT count EQUAL 1)
  fail("${CASE}: expected one error, got ${count}:\n${output}")
endif()
# nvcc spells a string as {'f', 'c', '1', '\000'}.
string(REPLACE "', '" "" errors "${errors}")
foreach(word IN LISTS words)
  string(FIND "${errors}" "${word}" found)
  if(found EQUAL -1)
    fail("${CASE}: the error line lacks '${word}':\n${output}")
  endif()
endforeach()
list(LENGTH lines count)
if(DEFINED MAX_LINES AND count GREATER MAX_LINES)
  fail("${CASE}: expected at most ${MAX_LINES} lines, got ${count}:\n${output}")
endif()
message("${errors}")
