# The ways in which a user's project gets at the library; CMakeLists.txt beside this file is that project.
find_program(KERN_PKG_CONFIG pkg-config)
set(KERN_PKG_CONFIG_MISSING "no pkg-config here")
foreach(from IN ITEMS package subdirectory fetch pkg-config)
  set(needs "")
  if(from STREQUAL "pkg-config")
    set(needs KERN_PKG_CONFIG)
  endif()
  kern_script_test("consumer/${from}" consumer "${needs}"
    ${CMAKE_COMMAND} -DFROM=${from} -DSOURCE=${PROJECT_SOURCE_DIR} -DBUILD=${PROJECT_BINARY_DIR}
    -DSCRATCH=${CMAKE_CURRENT_BINARY_DIR}/consumer_${from} -DCOMPILER=${CMAKE_CXX_COMPILER}
    -DGENERATOR=${CMAKE_GENERATOR} -DPKG_CONFIG=${KERN_PKG_CONFIG}
    -P ${CMAKE_CURRENT_SOURCE_DIR}/consumer/check.cmake)
endforeach()
