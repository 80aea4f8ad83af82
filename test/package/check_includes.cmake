# Part of tenure, under the Boost Software License 1.0 (see LICENSE).
# cmake -DCOMPILER=... -DSOURCE_DIR=... -DFEATURES_DIR=... -DBOOST_INCLUDE=... -DWORK_DIR=... -P check_includes.cmake
# What a user's file pays for: tenure.hpp reaches no header of the log, of TLS or of a store's protocol, nothing of the
# interface of a store's author, and none of the library's own tools.
cmake_minimum_required(VERSION 3.25)
file(WRITE "${WORK_DIR}/includes.cpp" "#include <tenure/tenure.hpp>\n")
execute_process(
  COMMAND "${COMPILER}" -std=c++20 -M "-I${SOURCE_DIR}/include" "-I${FEATURES_DIR}" "-I${BOOST_INCLUDE}" "${WORK_DIR}/includes.cpp"
  OUTPUT_VARIABLE reached
  COMMAND_ERROR_IS_FATAL ANY)
if(NOT reached MATCHES "tenure/tenure\\.hpp" OR NOT reached MATCHES "boost/asio/")
  message(FATAL_ERROR "the list of headers is not what it should be:\n${reached}")
endif()
foreach(forbidden "[^ ]*/spdlog/[^ ]*" "[^ ]*/fmt/[^ ]*" "[^ ]*/openssl/[^ ]*" "[^ ]*/boost/asio/ssl[^ ]*" "[^ ]*${SOURCE_DIR}/lib/[^ ]*"
                  "[^ ]*/boost/json/[^ ]*" "[^ ]*/tenure/backend/[^ ]*" "[^ ]*/tenure/[^ ]*(one_shot|allocator|strand)[^ ]*")
  if(reached MATCHES "${forbidden}")
    message(SEND_ERROR "tenure.hpp reaches ${CMAKE_MATCH_0}")
  endif()
endforeach()
string(REGEX MATCHALL " [^ \\\n]+" all "${reached}")
list(LENGTH all count)
message("${count} headers reached")
