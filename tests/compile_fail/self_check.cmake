# check.cmake passes a good case and fails every kind of bad one.
#   cmake -DCOMPILER=g++ -DSCRATCH=<folder> -P self_check.cmake
cmake_minimum_required(VERSION 3.22)
function(fail text) # message(FATAL_ERROR) alone would wrap the lines
  message("${text}")
  message(FATAL_ERROR "failed")
endfunction()

file(MAKE_DIRECTORY ${SCRATCH})
function(expect outcome name text)
  file(WRITE ${SCRATCH}/${name}.cpp "${text}\n")
  execute_process(COMMAND ${CMAKE_COMMAND} -DCOMPILER=${COMPILER} "-DFLAGS=-std=c++20 -fsyntax-only -Wall -Wextra"
                          -DINCLUDE=${SCRATCH} -DCASE=${SCRATCH}/${name}.cpp -DMAX_LINES=15
                          -P ${CMAKE_CURRENT_LIST_DIR}/check.cmake
                  RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(outcome STREQUAL "pass")
    if(NOT status EQUAL 0)
      fail("${name} should pass:\n${output}")
    endif()
  elseif(status EQUAL 0 OR NOT output MATCHES "${outcome}")
    fail("${name} should fail with '${outcome}', but gave ${status}:\n${output}")
  endif()
endfunction()

set(incomplete "template <int> struct gets; template <class> struct mismatch;")
set(wrong "#ifndef FIXED\nstatic_assert(sizeof(mismatch<gets<7>>));\n#endif")
expect(pass good "// error: mismatch gets<7>\n${incomplete}\n${wrong}")
expect("has no line" no_words "${incomplete}\n${wrong}")
expect("lacks 'gets<8>'" other_number "// error: mismatch gets<8>\n${incomplete}\n${wrong}")
expect("should not" compiles "// error: mismatch gets<7>\n${incomplete}")
expect("got 2" two_errors "// error: mismatch gets<7>\n${incomplete}\n${wrong}\n#ifndef FIXED\nint i = nowhere;\n#endif")
expect("should compile" never_compiles "// error: mismatch gets<7>\n${incomplete}\nstatic_assert(sizeof(mismatch<gets<7>>));")
expect("should compile" warns "// error: mismatch gets<7>\n${incomplete}\n${wrong}\nbool f(int a, unsigned b) { return a < b; }")
expect("at most 15 lines" too_long
  "// error: mismatch gets<7>\n${incomplete}\n#ifndef FIXED\nbool f(int a, unsigned b) { return a < b; }\nbool g(int a, unsigned b) { return a < b; }\nbool h(int a, unsigned b) { return a < b; }\nbool i(int a, unsigned b) { return a < b; }\nbool j(int a, unsigned b) { return a < b; }\nbool k(int a, unsigned b) { return a < b; }\n#endif\n${wrong}")
file(REMOVE_RECURSE ${SCRATCH})
