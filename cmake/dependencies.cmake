# Everything comes from Debian packages; tools/setup installs them.
find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
find_package(spdlog REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
pkg_check_modules(ZeroMQ REQUIRED IMPORTED_TARGET libzmq)
find_path(CPPZMQ_INCLUDE_DIR zmq.hpp REQUIRED)
find_path(MSGPACK_INCLUDE_DIR msgpack.hpp REQUIRED)
find_path(ASIO_INCLUDE_DIR asio.hpp REQUIRED)

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
endif()

# msgpack-cxx without Boost: three times faster to compile.
add_library(danaus_msgpack INTERFACE)
target_include_directories(danaus_msgpack SYSTEM INTERFACE ${MSGPACK_INCLUDE_DIR})
target_compile_definitions(danaus_msgpack INTERFACE MSGPACK_NO_BOOST)

# Asio compiled once here instead of in every unit that includes it. Without
# ASIO_HAS_STD_ALIGNED_ALLOC, whether a unit takes memory by aligned_alloc or by operator new would hang on
# what it includes before Asio, and another unit could free it the other way.
add_library(danaus_asio STATIC ${CMAKE_SOURCE_DIR}/cmake/asio.cpp)
target_include_directories(danaus_asio SYSTEM PUBLIC ${ASIO_INCLUDE_DIR})
target_compile_definitions(danaus_asio PUBLIC ASIO_STANDALONE ASIO_SEPARATE_COMPILATION
                                              ASIO_NO_DEPRECATED ASIO_HAS_CO_AWAIT=1
                                              ASIO_HAS_STD_ALIGNED_ALLOC=1)
target_link_libraries(danaus_asio PUBLIC Threads::Threads)
set_target_properties(danaus_asio PROPERTIES POSITION_INDEPENDENT_CODE ON)

add_library(danaus_zeromq INTERFACE)
target_include_directories(danaus_zeromq SYSTEM INTERFACE ${CPPZMQ_INCLUDE_DIR})
target_link_libraries(danaus_zeromq INTERFACE PkgConfig::ZeroMQ)
