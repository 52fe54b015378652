# What every target shares: the language, warnings, sanitizers, packages, and the functions that make targets.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)

find_program(CCACHE ccache)
if(CCACHE)
  # Paths relative to the build folder, so that builds in several folders share entries.
  set(launcher ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${launcher})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
endif()

if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  find_program(FAST_LINKER mold)
  if(FAST_LINKER)
    add_link_options(-fuse-ld=mold)
  endif()
endif()
find_program(LLD ld.lld)
if(LLD AND NOT FAST_LINKER)
  add_link_options(-fuse-ld=lld)
endif()

if(DOCKET_SANITIZE)
  add_compile_options(-fsanitize=${DOCKET_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${DOCKET_SANITIZE})
endif()

add_library(docket_warnings INTERFACE)
# Designated initializers leave members at their defaults on purpose.
target_compile_options(docket_warnings INTERFACE -Wall -Wextra -Wshadow -Wconversion -Wno-missing-field-initializers -Werror)
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  target_compile_options(docket_warnings INTERFACE -Wthread-safety)
endif()

# Protobuf in module mode before gRPC, whose package file asks for it in the other mode.
find_package(Protobuf REQUIRED)
find_package(absl REQUIRED)
find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
find_package(spdlog REQUIRED)
find_package(GTest REQUIRED)
find_package(nlohmann_json REQUIRED)
pkg_check_modules(LIBCRYPTO REQUIRED IMPORTED_TARGET libcrypto)
pkg_check_modules(LIBPQXX REQUIRED IMPORTED_TARGET libpqxx libpq)
if(DOCKET_GRPC)
  find_package(gRPC CONFIG REQUIRED)
  find_program(GRPC_CPP_PLUGIN grpc_cpp_plugin REQUIRED)
  find_package(CLI11 REQUIRED)
  pkg_check_modules(NCURSESW REQUIRED IMPORTED_TARGET ncursesw)
  pkg_check_modules(UTF8PROC REQUIRED IMPORTED_TARGET libutf8proc)
endif()

# docket_library(log_core SRCS a.cc b.cc DEPS docket::common): the static library docket::log_core.
function(docket_library name)
  cmake_parse_arguments(ARG "" "" "SRCS;DEPS" ${ARGN})
  add_library(docket_${name} STATIC ${ARG_SRCS})
  add_library(docket::${name} ALIAS docket_${name})
  target_include_directories(docket_${name} PUBLIC ${PROJECT_SOURCE_DIR})
  target_link_libraries(docket_${name} PUBLIC ${ARG_DEPS} PRIVATE docket_warnings)
endfunction()

# docket_binary(docket-log SRCS main.cc DEPS docket::log_rpc): the program build/<preset>/bin/docket-log.
function(docket_binary name)
  cmake_parse_arguments(ARG "" "" "SRCS;DEPS" ${ARGN})
  add_executable(${name} ${ARG_SRCS})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE ${ARG_DEPS} docket_warnings)
endfunction()

# docket_test(log_core LABELS unit;race SRCS a_test.cc DEPS docket::log_core): one GoogleTest program, build/<preset>/bin/log_core_test.
# Labels: unit, race (also built and run with the thread sanitizer; links no gRPC), postgres, e2e, fault.
function(docket_test name)
  cmake_parse_arguments(ARG "" "" "SRCS;DEPS;LABELS" ${ARGN})
  docket_binary(${name}_test SRCS ${ARG_SRCS} DEPS ${ARG_DEPS} GTest::gmock GTest::gtest_main)
  target_compile_definitions(${name}_test PRIVATE DOCKET_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
                             DOCKET_BIN_DIR="${CMAKE_RUNTIME_OUTPUT_DIRECTORY}")
  add_test(NAME ${name} COMMAND ${name}_test)
  set_tests_properties(${name} PROPERTIES LABELS "${ARG_LABELS}" TIMEOUT 600)
endfunction()
