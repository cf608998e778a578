# How a module of src/ becomes an object library, and how its tests become one test program.

find_program(STROP_CCACHE ccache)
if(STROP_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${STROP_CCACHE})
endif()
if(STROP_CCACHE AND STROP_PRECOMPILE)  # what ccache asks for where headers are precompiled
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${STROP_CCACHE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    add_compile_options("SHELL:-Xclang -fno-pch-timestamp")
  else()
    add_compile_options(-fpch-preprocess)
  endif()
endif()
find_program(STROP_MOLD mold)
if(STROP_MOLD)
  add_link_options(-fuse-ld=mold)
endif()

add_library(strop_flags INTERFACE)
target_include_directories(strop_flags INTERFACE ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/include)
target_compile_options(strop_flags INTERFACE -Wall -Wextra -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual
  -Wno-missing-field-initializers -fno-math-errno -ffp-contract=off)
# GCC bug 105329: false warnings from within std::string, which are silent only while its header is no precompiled one.
if(STROP_PRECOMPILE AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(strop_flags INTERFACE -Wno-restrict)
  set(STROP_TEST_WARNINGS -Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread)
endif()
if(STROP_WERROR)
  target_compile_options(strop_flags INTERFACE -Werror)
endif()
if(STROP_SANITIZE)
  target_compile_options(strop_flags INTERFACE -fsanitize=${STROP_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=undefined)
  target_link_options(strop_flags INTERFACE -fsanitize=${STROP_SANITIZE})
endif()
if(STROP_FUZZERS)
  target_compile_options(strop_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

# strop_module(NAME SOURCES glob... [EXCEPT file...] [LIBS lib...]): object library strop_NAME from the sources that the
# globs (relative to the current folder) match; files ending in _test.cpp are kept apart for strop_test.
function(strop_module name)
  cmake_parse_arguments(ARG "" "" "SOURCES;EXCEPT;LIBS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${ARG_SOURCES})
  list(FILTER sources EXCLUDE REGEX "_test\\.cpp$")
  list(TRANSFORM ARG_EXCEPT PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
  list(REMOVE_ITEM sources ${ARG_EXCEPT})
  add_library(strop_${name} OBJECT ${sources})
  target_link_libraries(strop_${name} PUBLIC strop_flags ${ARG_LIBS})
  strop_precompile(strop_${name})
endfunction()

# strop_precompile(TARGET): with STROP_PRECOMPILE, the headers that most sources begin with are parsed once and shared by
# all targets of the same options. It saves a third of a build from scratch, but hides a missing #include (other presets
# and clang-tidy do without) and makes objects that other folders' builds cannot take from ccache.
function(strop_precompile target)
  if(NOT STROP_PRECOMPILE OR target STREQUAL "strop_kernels")  # kernels include next to nothing
    return()
  endif()
  set(owner modules)
  if(target MATCHES "_test$")
    set(owner tests)
  elseif(STROP_FUZZERS AND target STREQUAL "strop_ops")  # its options are its own there
    set(owner ops)
  endif()
  get_property(owning GLOBAL PROPERTY strop_precompiled_${owner})
  if(owning)
    target_precompile_headers(${target} REUSE_FROM ${owning})
  else()
    target_precompile_headers(${target} PRIVATE <algorithm> <functional> <map> <memory> <optional> <span> <string>
      <vector> <fmt/format.h> $<$<STREQUAL:${owner},tests>:<gtest/gtest.h$<ANGLE-R>> "${CMAKE_SOURCE_DIR}/src/ops/operator.h")
    set_property(GLOBAL PROPERTY strop_precompiled_${owner} ${target})
  endif()
endfunction()

# strop_objects(OUT module...): the modules' object files. CMake counts GCC's precompiled header among them; no linker
# wants it.
function(strop_objects out)
  set(objects)
  foreach(module ${ARGN})
    list(APPEND objects $<FILTER:$<TARGET_OBJECTS:strop_${module}>,EXCLUDE,\\.gch$>)
  endforeach()
  set(${out} ${objects} PARENT_SCOPE)
endfunction()

# strop_bundle(TARGET module...): what links all objects of the modules, and the libraries that they need;
# TARGET_libraries are the latter alone.
function(strop_bundle target)
  add_library(${target}_libraries INTERFACE)
  add_library(${target} INTERFACE)
  foreach(module ${ARGN})
    target_link_libraries(${target}_libraries INTERFACE strop_${module})
    strop_objects(objects ${module})
    target_link_libraries(${target} INTERFACE strop_${module} ${objects})
  endforeach()
endfunction()

# strop_shared_library(NAME BUNDLE module...): libNAME.so beside the command, with the modules that the bundle has. It
# exports what STROP_API marks, and its SONAME carries the major version.
function(strop_shared_library name bundle)
  strop_objects(objects ${ARGN})
  add_library(${name}_shared SHARED ${objects})
  target_link_libraries(${name}_shared PRIVATE ${bundle}_libraries)
  target_include_directories(${name}_shared INTERFACE ${CMAKE_SOURCE_DIR}/include)
  target_link_options(${name}_shared PRIVATE -Wl,--no-undefined -Wl,--version-script=${CMAKE_SOURCE_DIR}/cmake/exports.map)
  set_target_properties(${name}_shared PROPERTIES OUTPUT_NAME ${name} LINKER_LANGUAGE CXX
    LINK_DEPENDS ${CMAKE_SOURCE_DIR}/cmake/exports.map VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
endfunction()

# strop_test(NAME SOURCES glob...): one GoogleTest program from the _test.cpp files that the globs match, linked with
# the whole of Strop and registered with CTest case by case.
function(strop_test name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${ARG_SOURCES})
  if(NOT sources)
    return()
  endif()
  add_executable(strop_${name}_test ${sources})
  target_link_libraries(strop_${name}_test PRIVATE strop_all GTest::gmock_main ${ARG_LIBS})
  # Nothing in them is hot.
  target_compile_options(strop_${name}_test PRIVATE $<$<CONFIG:Release>:-O1> ${STROP_TEST_WARNINGS})
  strop_precompile(strop_${name}_test)
  gtest_discover_tests(strop_${name}_test TEST_PREFIX "${name}." PROPERTIES LABELS ${name} DISCOVERY_TIMEOUT 60)
endfunction()
