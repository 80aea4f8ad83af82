# Part of tenure, under the Boost Software License 1.0 (see LICENSE).
# What the library is built from. Boost is headers only here; its own configuration is preferred, and the module of CMake
# finds a bare header tree (BOOST_ROOT).
find_package(Boost 1.83 CONFIG QUIET)
if(NOT Boost_FOUND)
  find_package(Boost 1.83 MODULE REQUIRED)
endif()
if(TENURE_TLS)
  find_package(OpenSSL 3.0 REQUIRED COMPONENTS Crypto SSL)
else()
  # for the names of Redis scripts, which are SHA-1
  find_package(OpenSSL 3.0 REQUIRED COMPONENTS Crypto)
endif()
find_package(spdlog 1.9 REQUIRED)
set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)

# The store on ZooKeeper is built on request, because everything that links tenure statically then links its C client.
if(TENURE_ZOOKEEPER STREQUAL "AUTO")
  find_package(ZooKeeper 3.5 QUIET)
  set(TENURE_ZOOKEEPER ${ZooKeeper_FOUND})
elseif(TENURE_ZOOKEEPER)
  find_package(ZooKeeper 3.5 REQUIRED)
endif()
if(TENURE_ZOOKEEPER)
  message(STATUS "ZooKeeper: built in, with ${ZooKeeper_ST_LIBRARY} ${ZooKeeper_VERSION}")
else()
  message(STATUS "ZooKeeper: left out; TENURE_ZOOKEEPER=ON builds it in")
endif()

# The store on PostgreSQL likewise, with libpq. Pipeline mode came with version 14.
if(TENURE_POSTGRESQL STREQUAL "AUTO")
  find_package(PostgreSQL 14 QUIET)
  set(TENURE_POSTGRESQL ${PostgreSQL_FOUND})
elseif(TENURE_POSTGRESQL)
  find_package(PostgreSQL 14 REQUIRED)
endif()
if(TENURE_POSTGRESQL)
  message(STATUS "PostgreSQL: built in, with ${PostgreSQL_LIBRARY_RELEASE} ${PostgreSQL_VERSION_STRING}")
else()
  message(STATUS "PostgreSQL: left out; TENURE_POSTGRESQL=ON builds it in")
endif()

# Metrics for Prometheus are a library of their own, built on request like the store on ZooKeeper. Debian's package names
# no version.
if(TENURE_PROMETHEUS STREQUAL "AUTO")
  find_package(prometheus-cpp CONFIG QUIET)
  set(TENURE_PROMETHEUS ${prometheus-cpp_FOUND})
elseif(TENURE_PROMETHEUS)
  find_package(prometheus-cpp CONFIG REQUIRED)
endif()
if(TENURE_PROMETHEUS)
  message(STATUS "Prometheus: tenure::prometheus is built")
else()
  message(STATUS "Prometheus: left out; TENURE_PROMETHEUS=ON builds tenure::prometheus")
endif()

# Spans for OpenTelemetry likewise.
if(TENURE_OPENTELEMETRY STREQUAL "AUTO")
  find_package(opentelemetry-cpp CONFIG QUIET)
  set(TENURE_OPENTELEMETRY ${opentelemetry-cpp_FOUND})
elseif(TENURE_OPENTELEMETRY)
  find_package(opentelemetry-cpp CONFIG REQUIRED)
endif()
if(TENURE_OPENTELEMETRY)
  message(STATUS "OpenTelemetry: tenure::opentelemetry is built")
else()
  message(STATUS "OpenTelemetry: left out; TENURE_OPENTELEMETRY=ON builds tenure::opentelemetry")
endif()
