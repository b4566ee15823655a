# ptxas.cmake finds each thing that can be wrong, in a report written here.
#   cmake -DSCRATCH=<folder> -P ptxas_self_check.cmake
cmake_minimum_required(VERSION 3.22)
function(fail text) # message(FATAL_ERROR) alone would wrap the lines
  message("${text}")
  message(FATAL_ERROR "failed")
endfunction()

set(no_frame "0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads")
function(run table frame)
  file(WRITE ${SCRATCH}/table.txt "${table}\n")
  file(WRITE ${SCRATCH}/report.txt "ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function '_ZN4kern3gpu4turnILi3EEvPf' for 'sm_90'
ptxas info    : Function properties for _ZN4kern3gpu4turnILi3EEvPf
    ${no_frame}
ptxas info    : Used 12 registers, used 0 barriers
ptxas info    : Compiling entry function '_ZN4kern3gpu7productILb1EEvPf' for 'sm_90'
ptxas info    : Function properties for _ZN4kern3gpu7productILb1EEvPf
    ${frame}
ptxas info    : Used 57 registers, used 1 barriers, 8320 bytes smem
ptxas info    : Compiling entry function '_ZN4kern3gpu4turnILi4EEvPf' for 'sm_90'
ptxas info    : Function properties for _ZN4kern3gpu4turnILi4EEvPf
    ${no_frame}
ptxas info    : Used 20 registers, used 0 barriers\n")
  execute_process(COMMAND ${CMAKE_COMMAND} -DREPORT=${SCRATCH}/report.txt -DTABLE=${SCRATCH}/table.txt
                          -DARCHITECTURE=sm_90 ${ARGN} -P ${CMAKE_CURRENT_LIST_DIR}/ptxas.cmake
                  RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  set(status ${status} PARENT_SCOPE)
  set(output "${output}" PARENT_SCOPE)
endfunction()
function(expect_complaint table frame complaint)
  run("${table}" "${frame}")
  string(FIND "${output}" "${complaint}" found)
  if(status EQUAL 0 OR found EQUAL -1)
    fail("should give '${complaint}', but gave ${status}:\n${output}")
  endif()
endfunction()

set(product "sm_90 product: 64 registers, 8320 bytes")
set(turn "sm_90 turn: 24 registers, 0 bytes")
set(other "sm_80 turn: 8 registers, 0 bytes")
run("${other}\n${product}\n${turn}" "${no_frame}")
if(NOT status EQUAL 0)
  fail("all is well, but got:\n${output}")
endif()
run("${other}\nsm_90 gone: 8 registers, 0 bytes" "${no_frame}" -DREWRITE=ON)
file(READ ${SCRATCH}/table.txt table)
if(NOT status EQUAL 0 OR NOT table STREQUAL "${other}\n${product}\n${turn}\n")
  fail("the table should be made anew, but is:\n${table}${output}")
endif()
expect_complaint("${turn}\nsm_90 product: 56 registers, 8320 bytes" "${no_frame}"
  "sm_90 product: expected at most 56 registers, 8320 bytes, got 64 registers, 8320 bytes")
expect_complaint("${turn}\nsm_90 product: 64 registers, 8319 bytes" "${no_frame}"
  "sm_90 product: expected at most 64 registers, 8319 bytes, got 64 registers, 8320 bytes")
expect_complaint("${product}\nsm_90 turn: 16 registers, 0 bytes" "${no_frame}" "got 24 registers, 0 bytes")
expect_complaint("${product}" "${no_frame}" "sm_90 turn: 24 registers, 0 bytes; the table has no such kernel")
expect_complaint("${product}\n${turn}\nsm_90 gone: 8 registers, 0 bytes" "${no_frame}"
  "sm_90 gone: in the table with 8 registers, 0 bytes; there is no such kernel")
expect_complaint("${product}\n${turn}" "8 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads"
  "sm_90 product: expected no local memory, got 8 bytes stack frame")
expect_complaint("${product}\n${turn}" "0 bytes stack frame, 4 bytes spill stores, 0 bytes spill loads"
  "sm_90 product: expected no local memory, got 0 bytes stack frame, 4 bytes spill stores")
expect_complaint("turn 24\n${product}\n${turn}" "${no_frame}" "cannot read 'turn 24'")
file(REMOVE_RECURSE ${SCRATCH})
