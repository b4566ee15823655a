# Builds and runs the consumer, fetching nothing.
#   cmake -DFROM=package|subdirectory|fetch|pkg-config -DSOURCE=<root> -DBUILD=<kern's build> -DSCRATCH=<folder>
#         -DCOMPILER=... -DGENERATOR=... -DPKG_CONFIG=... -P check.cmake
cmake_minimum_required(VERSION 3.22)
function(fail text) # message(FATAL_ERROR) alone would wrap the lines
  message("${text}")
  message(FATAL_ERROR "failed")
endfunction()

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    list(JOIN ARGN " " command)
    fail("${command}\ngave ${status}:\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

# A name with a space, where the tool can have it.
if(FROM STREQUAL "pkg-config")
  set(prefix ${SCRATCH}/prefix)
else()
  set(prefix "${SCRATCH}/the prefix")
endif()
file(REMOVE_RECURSE ${SCRATCH})
file(MAKE_DIRECTORY ${SCRATCH})

if(FROM MATCHES "package|pkg-config")
  run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${prefix})
  if(EXISTS ${prefix}/bin OR EXISTS ${prefix}/lib)
    fail("more than headers is installed in ${prefix}")
  endif()
endif()

if(FROM STREQUAL "pkg-config")
  set(ENV{PKG_CONFIG_PATH} ${prefix}/share/pkgconfig)
  run(${PKG_CONFIG} --cflags --libs kern)
  string(STRIP "${output}" flags)
  separate_arguments(flags)
  run(${COMPILER} ${CMAKE_CURRENT_LIST_DIR}/main.cpp ${CMAKE_CURRENT_LIST_DIR}/other.cpp ${flags}
      -o ${SCRATCH}/consumer)
  run(${SCRATCH}/consumer)
else()
  run(${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR} -B ${SCRATCH}/build -G ${GENERATOR} -DKERN_FROM=${FROM}
      -DKERN_SOURCE=${SOURCE} -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_PREFIX_PATH=${prefix}
      -DFETCHCONTENT_FULLY_DISCONNECTED=ON -DCMAKE_CXX_EXTENSIONS=OFF)
  if(FROM STREQUAL "package")
    run(${CMAKE_COMMAND} --build ${SCRATCH}/build)
    run(${SCRATCH}/build/consumer_safetensors ${SCRATCH}/net.safetensors)
    run(${SCRATCH}/build/consumer_npz ${SCRATCH}/arrays.npz)
    run(${SCRATCH}/build/consumer_tensorboard ${SCRATCH}/run)
    run(${SCRATCH}/build/consumer_images)
    run(${SCRATCH}/build/consumer_onnx ${SCRATCH}/net.onnx)
  else() # the components are the same: one of them will do
    run(${CMAKE_COMMAND} --build ${SCRATCH}/build --target consumer consumer_gzip)
  endif()
  run(${SCRATCH}/build/consumer_gzip)
  run(${SCRATCH}/build/consumer)
endif()
if(NOT output MATCHES "consumer ok")
  fail("the consumer printed:\n${output}")
endif()
file(REMOVE_RECURSE ${SCRATCH})
