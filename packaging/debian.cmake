# The Debian package, made by `cpack --preset release` from a finished release build: one for the command, the
# libraries and what is needed to build against them.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME danaus)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "RDMA manager service: one-sided put and get between processes")
set(CPACK_PACKAGE_DESCRIPTION
"Danaus moves memory between processes by one-sided put and get (RDMA write and
read). Each worker process carries a manager that owns its devices, memory
registrations and queue pairs and answers MessagePack messages over ZeroMQ; the
bytes go from caller to device. Without RDMA hardware, a built-in software
device has the semantics of a reliable-connected queue pair.
.
This package has the danaus command, the shared libraries, and the headers,
CMake and pkg-config files to build programs with them.")
set(CPACK_PACKAGE_CONTACT "Danaus developers")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_PACKAGE_DIRECTORY ${CMAKE_BINARY_DIR})
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION net)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${CMAKE_CURRENT_SOURCE_DIR}/triggers)
# The headers include nothing but each other and the standard library: no -dev package is among these.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${CMAKE_BINARY_DIR}/lib)
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "g++ (>= 4:12), cmake, pkg-config")
include(CPack)
