# Third-party libraries, all of them Debian 12 packages (scripts/install-deps.sh).
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(OpenSSL 3 REQUIRED)
find_package(ZLIB REQUIRED)
find_package(CURL REQUIRED)
find_package(Boost 1.81 REQUIRED)
find_package(GTest REQUIRED)
find_package(simdjson REQUIRED)
find_package(CLI11 REQUIRED)
find_package(prometheus-cpp REQUIRED COMPONENTS core)
pkg_check_modules(YAML REQUIRED IMPORTED_TARGET yaml-0.1)
pkg_check_modules(RE2 REQUIRED IMPORTED_TARGET re2)
pkg_check_modules(SQLITE REQUIRED IMPORTED_TARGET sqlite3)
pkg_check_modules(ZSTD REQUIRED IMPORTED_TARGET libzstd)
pkg_check_modules(XXHASH REQUIRED IMPORTED_TARGET libxxhash)
pkg_check_modules(GIT2 REQUIRED IMPORTED_TARGET libgit2)
pkg_check_modules(PQ REQUIRED IMPORTED_TARGET libpq)
pkg_check_modules(RDKAFKA REQUIRED IMPORTED_TARGET rdkafka)
pkg_check_modules(NATS IMPORTED_TARGET libnats)  # tests and benchmarks only
# Static: the shared library counts in /dev/shm from the moment it is loaded, before the program could forbid it
# (src/sinks/mongo/client.cc).
find_package(mongoc-1.0 REQUIRED)
# -fPIC, which the precompiled header is built without.
set_target_properties(mongo::mongoc_static mongo::bson_static PROPERTIES INTERFACE_COMPILE_OPTIONS "")
if(KOLLECT_BENCH)
  find_package(benchmark REQUIRED)
endif()
# re2 asks for -pthread, which the precompiled header is built without; the C library needs no such flag.
set_target_properties(PkgConfig::RE2 PROPERTIES INTERFACE_COMPILE_OPTIONS "")
