# danaus_options: what every target of ours is compiled with. Warnings are errors.
add_library(danaus_options INTERFACE)
target_compile_options(danaus_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wnon-virtual-dtor -Woverloaded-virtual
  -Wnull-dereference -Wimplicit-fallthrough -Werror)

# GCC 12 takes the frame of an inlined coroutine for one whose operator delete does not match its
# operator new: a false alarm, Asio's awaitables bring both.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(danaus_options INTERFACE -Wno-mismatched-new-delete)
endif()

# Clang minds other things than GCC does, in the library's own headers too: GCC's build holds the warnings.
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  target_compile_options(danaus_options INTERFACE -Wno-everything)
endif()

if(CMAKE_UNITY_BUILD)
  # GCC spares what a .cpp file keeps to itself from this warning only where that file is the unit.
  target_compile_options(danaus_options INTERFACE -Wno-subobject-linkage)
endif()

if(DANAUS_SANITIZE)
  # Global, so that Asio's unit and the tests carry the same instrumentation.
  # -Wno-error=...: GCC 12 reports false positives of these in instrumented code.
  add_compile_options(-fsanitize=${DANAUS_SANITIZE} -fno-omit-frame-pointer
                      -fno-sanitize-recover=all)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    add_compile_options(-Wno-maybe-uninitialized -Wno-null-dereference)
  endif()
  if(DANAUS_SANITIZE MATCHES "undefined")
    # The check of dynamic types makes a pipe to see whether memory can be read, and takes an object for a
    # wrong one where the process is out of descriptors, as some tests are on purpose.
    add_compile_options(-fno-sanitize=vptr)
  endif()
  if(DANAUS_SANITIZE MATCHES "thread")
    # The sanitizer does not understand fences. Asio's are for handlers that race; ours do not.
    add_compile_definitions(ASIO_DISABLE_FENCED_BLOCK)
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      add_compile_options(-Wno-tsan)
    endif()
  endif()
  string(REPLACE "fuzzer-no-link," "" linked_sanitizers "${DANAUS_SANITIZE}")
  add_link_options(-fsanitize=${linked_sanitizers})
endif()

# danaus_library(NAME SOURCES... DEPENDS targets...): a static library of one floor of the house.
function(danaus_library name)
  cmake_parse_arguments(arg "" "" "SOURCES;DEPENDS" ${ARGN})
  add_library(${name} STATIC ${arg_SOURCES})
  target_include_directories(${name} PUBLIC ${CMAKE_SOURCE_DIR} ${CMAKE_SOURCE_DIR}/include
                                            ${CMAKE_SOURCE_DIR}/src)
  target_link_libraries(${name} PUBLIC ${arg_DEPENDS} PRIVATE danaus_options)
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
endfunction()
