# Runs a program and looks at how it ends and what it prints.
#   cmake -DPROGRAM=<file> -DARGUMENTS="--epochs 1" -DSTATUS=0 [-DMATCH=<regex>] [-DOUTPUT=<file>] -P run.cmake
# STATUS is 0 or `error`, any other. MATCH must be found in its output, both streams together; OUTPUT holds exactly
# what it must print.
cmake_minimum_required(VERSION 3.22)
separate_arguments(ARGUMENTS UNIX_COMMAND "${ARGUMENTS}")
execute_process(COMMAND ${PROGRAM} ${ARGUMENTS} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE errors)
message("${output}${errors}")
if(STATUS STREQUAL "error")
  # A crash is reported in words, not as a number.
  if(NOT status MATCHES "^[1-9][0-9]*$")
    message(FATAL_ERROR "should end with an error status, but ended with: ${status}")
  endif()
elseif(NOT status STREQUAL STATUS)
  message(FATAL_ERROR "should end with status ${STATUS}, but ended with: ${status}")
endif()
if(DEFINED MATCH AND NOT "${output}${errors}" MATCHES "${MATCH}")
  message(FATAL_ERROR "should print '${MATCH}'")
endif()
if(DEFINED OUTPUT)
  file(READ ${OUTPUT} expected)
  if(NOT output STREQUAL expected)
    message(FATAL_ERROR "should print what is in ${OUTPUT}:\n${expected}")
  endif()
endif()
