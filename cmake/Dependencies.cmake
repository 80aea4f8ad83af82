# Part of tenure, under the Boost Software License 1.0 (see LICENSE).
# What the library is built from. Boost is headers only here; its own configuration is preferred, and the module of CMake
# finds a bare header tree (BOOST_ROOT).
find_package(Boost 1.83 CONFIG QUIET)
if(NOT Boost_FOUND)
  find_package(Boost 1.83 MODULE REQUIRED)
endif()
find_package(OpenSSL 3.0 REQUIRED)
find_package(spdlog 1.9 REQUIRED)
set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)
