# What a program prints stands in a document, as it is.
#   cmake -DPROGRAM=<file> -DARGUMENTS=--expect -DDOCUMENT=<file> -P in_document.cmake
cmake_minimum_required(VERSION 3.22)
execute_process(COMMAND ${PROGRAM} ${ARGUMENTS} RESULT_VARIABLE status OUTPUT_VARIABLE printed)
if(NOT status EQUAL 0 OR printed STREQUAL "")
  message(FATAL_ERROR "${PROGRAM} ${ARGUMENTS} ends with ${status} and prints '${printed}'")
endif()
file(READ ${DOCUMENT} document)
string(FIND "${document}" "${printed}" at)
if(at EQUAL -1)
  message(FATAL_ERROR "${DOCUMENT} has not what '${PROGRAM} ${ARGUMENTS}' prints:\n${printed}")
endif()
