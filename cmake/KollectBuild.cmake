# Compiler settings and the two functions by which rooms and their tests are declared.
include(CheckCXXCompilerFlag)

set(CMAKE_CXX_STANDARD 23)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)

option(KOLLECT_PCH "Use precompiled headers" ON)
option(KOLLECT_BENCH "Build the benchmarks" OFF)
option(KOLLECT_FUZZ "Build the fuzzers (clang)" OFF)
set(KOLLECT_SANITIZE "" CACHE STRING "Sanitizers, as for -fsanitize=")

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()
# -O1 keeps debug and sanitizer runs of the whole test suite bearable on two cores.
set(CMAKE_CXX_FLAGS_DEBUG "-O1 -g1 -fno-omit-frame-pointer")
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")

string(FIND "${CMAKE_BINARY_DIR}/" "${CMAKE_SOURCE_DIR}/" in_tree)
if(in_tree EQUAL 0)
  set(KOLLECT_IN_TREE ON)
endif()

find_program(KOLLECT_CCACHE ccache)
if(KOLLECT_CCACHE)
  set(CMAKE_C_COMPILER_LAUNCHER ${KOLLECT_CCACHE})
  # Sloppiness that ccache needs with precompiled headers. A build below the source folder gives the same objects from
  # every clone: paths are taken relative to the clone, and a precompiled header counts by its text (kollect_pch_sum).
  set(ccache_settings CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
                      CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1)
  if(KOLLECT_IN_TREE)
    list(APPEND ccache_settings CCACHE_PCH_EXTSUM=1)
  endif()
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env ${ccache_settings} ${KOLLECT_CCACHE})
endif()
find_program(KOLLECT_MOLD mold)
if(KOLLECT_MOLD)
  add_link_options(-fuse-ld=mold)
endif()

add_compile_options(-Wall -Wextra -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual -Wunused -Wpedantic -Werror
                    -fdiagnostics-color=always)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # g++ 12 reports these falsely inside its own library at -O2.
  add_compile_options(-Wno-error=maybe-uninitialized -Wno-maybe-uninitialized -Wno-restrict -Wno-stringop-overflow
                      -Wno-array-bounds -Wno-dangling-pointer -fpch-preprocess)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  # libstdc++ 12 offers std::expected only to compilers that announce the newest concepts; clang 16 has what it needs.
  # Its own warnings are advice (clang-tidy shows them): the compiler that decides is g++.
  add_compile_options(-D__cpp_concepts=202002L -Wno-macro-redefined -Wno-builtin-macro-redefined -Wno-error)
endif()
if(KOLLECT_SANITIZE)
  add_compile_options(-fsanitize=${KOLLECT_SANITIZE} -fno-sanitize-recover=all)
  if(KOLLECT_SANITIZE MATCHES "thread")
    add_compile_options(-Wno-tsan)  # Asio has fences, which the sanitizer does not follow; it has locks beside them
  endif()
  string(REPLACE "fuzzer-no-link" "" KOLLECT_SANITIZE_LINK "${KOLLECT_SANITIZE}")
  string(REGEX REPLACE ",$" "" KOLLECT_SANITIZE_LINK "${KOLLECT_SANITIZE_LINK}")
  add_link_options(-fsanitize=${KOLLECT_SANITIZE_LINK})
endif()

# kollect_room(NAME DEPS room... LIBS target...)
# Declares library kollect_NAME from all *.cc below the folder (tests, benches and fuzzers told apart by suffix).
function(kollect_room name)
  cmake_parse_arguments(R "" "" "DEPS;LIBS;PRIVATE_LIBS" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cc)
  list(FILTER sources EXCLUDE REGEX "_([a-z]*test|bench|fuzz)\\.cc$")
  if(NOT sources)  # a room whose code is still to come
    file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/placeholder.cc "")
    set(sources ${CMAKE_CURRENT_BINARY_DIR}/placeholder.cc)
  endif()
  add_library(kollect_${name} STATIC ${sources})
  target_include_directories(kollect_${name} PUBLIC ${CMAKE_SOURCE_DIR}/src)
  foreach(dep ${R_DEPS})
    target_link_libraries(kollect_${name} PUBLIC kollect_${dep})
  endforeach()
  target_link_libraries(kollect_${name} PUBLIC ${R_LIBS} PRIVATE ${R_PRIVATE_LIBS})
  kollect_pch(kollect_${name})
  kollect_tests(${name})
endfunction()

# Unit tests: *_test.cc of the room become one program; *_<server>test.cc (kubetest, gittest, ...) another, labelled "server".
function(kollect_tests name)
  file(GLOB_RECURSE unit CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*_test.cc)
  if(unit)
    kollect_test_program(${name}_test unit ${name} ${unit})
  endif()
  file(GLOB_RECURSE server CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*test.cc)
  list(FILTER server EXCLUDE REGEX "_test\\.cc$")
  if(server)
    kollect_test_program(${name}_servertest server ${name} ${server})
  endif()
endfunction()

function(kollect_test_program program label room)
  add_executable(${program} ${ARGN})
  if(KOLLECT_IN_TREE)
    # Test programs go to the top of the tree first (tests/support/main.cc); no command line holds the clone's place.
    target_link_libraries(${program} PRIVATE kollect_${room} kollect_test_support kollect_test_main GTest::gmock)
    target_compile_definitions(${program} PRIVATE KOLLECT_SOURCE_DIR=".")
    target_compile_options(${program} PRIVATE $<$<CONFIG:Release>:-O1>)
    kollect_pch(${program} _test)
  else()
    target_link_libraries(${program} PRIVATE kollect_${room} kollect_test_support GTest::gmock GTest::gtest_main)
    target_compile_definitions(${program} PRIVATE KOLLECT_SOURCE_DIR="${CMAKE_SOURCE_DIR}"
                                                  KOLLECT_BINARY_DIR="${CMAKE_BINARY_DIR}")
    kollect_pch(${program})
  endif()
  if(label STREQUAL "unit")
    # Everything that `ctest -L unit` needs.
    if(NOT TARGET unit_tests)
      add_custom_target(unit_tests)
    endif()
    add_dependencies(unit_tests ${program})
  endif()
  add_test(NAME ${program} COMMAND ${program} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  set_tests_properties(${program} PROPERTIES LABELS ${label} TIMEOUT 1200)
  if(label STREQUAL "server")
    set_tests_properties(${program} PROPERTIES RUN_SERIAL ON)
  endif()
endfunction()

# kollect_server_group(ROOM NAME FILTER): tests of the room's server program that run apart from the others, beside them;
# what no group takes stays in the program's own test. Each group starts the servers it needs.
function(kollect_server_group room name filter)
  set(program ${room}_servertest)
  add_test(NAME ${room}_${name} COMMAND ${program} --gtest_filter=${filter} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  set_tests_properties(${room}_${name} PROPERTIES LABELS server TIMEOUT 1200)
  set_property(GLOBAL APPEND PROPERTY kollect_${room}_groups ${filter})
  get_property(taken GLOBAL PROPERTY kollect_${room}_groups)
  list(JOIN taken : taken)
  set_tests_properties(${program} PROPERTIES ENVIRONMENT "GTEST_FILTER=-${taken}")
endfunction()

# kollect_pch(TARGET [_test]): one precompiled header (standard library and fmt) serves every target, another one with
# GoogleTest all test programs.
function(kollect_pch target)
  set(name pch${ARGN})
  if(NOT KOLLECT_PCH)
    # The same text, compiled each time: for tools that cannot read a compiler's own format (clang-tidy).
    target_compile_options(${target} PRIVATE -include ${CMAKE_SOURCE_DIR}/cmake/${name}.h)
    return()
  endif()
  if(NOT TARGET kollect_${name})
    add_library(kollect_${name} OBJECT ${CMAKE_SOURCE_DIR}/cmake/pch.cc)
    target_link_libraries(kollect_${name} PUBLIC fmt::fmt)
    if(name STREQUAL "pch_test")
      target_link_libraries(kollect_${name} PUBLIC GTest::gmock)
      target_compile_options(kollect_${name} PRIVATE $<$<CONFIG:Release>:-O1>)
    endif()
    target_precompile_headers(kollect_${name} PRIVATE ${CMAKE_SOURCE_DIR}/cmake/${name}.h)
    kollect_pch_sum(${name})
  endif()
  target_precompile_headers(${target} REUSE_FROM kollect_${name})
endfunction()

# What ccache takes for the content of a precompiled header: its text, the compiler and the options. (The file itself is
# another one in each build folder.)
function(kollect_pch_sum name)
  file(SHA256 ${CMAKE_SOURCE_DIR}/cmake/pch.h common)
  file(SHA256 ${CMAKE_SOURCE_DIR}/cmake/${name}.h own)
  get_directory_property(options COMPILE_OPTIONS)
  string(TOUPPER "${CMAKE_BUILD_TYPE}" config)
  string(SHA256 sum "${common} ${own} ${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION} ${options} \
${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_${config}} ${fmt_VERSION} ${GTest_VERSION}")
  file(GENERATE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/CMakeFiles/kollect_${name}.dir/cmake_pch.hxx.gch.sum CONTENT "${sum}\n")
endfunction()
