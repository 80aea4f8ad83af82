# Part of tenure, under the Boost Software License 1.0 (see LICENSE).
# cmake -DTOOL=... -DFILE=... -P check_schema.cmake
# The file is what `tenure init --print` prints.
cmake_minimum_required(VERSION 3.25)
execute_process(COMMAND "${TOOL}" init --print OUTPUT_VARIABLE printed COMMAND_ERROR_IS_FATAL ANY)
file(READ "${FILE}" installed)
if(NOT printed MATCHES "tenure.guard" OR NOT printed STREQUAL installed)
  message(FATAL_ERROR "${FILE} is not what the tool prints")
endif()
