# Part of tenure, under the Boost Software License 1.0 (see LICENSE).
# cmake -DPROGRAM=... -DARGUMENT=... -DEXPECTED=a;b [-DEMULATOR=...] -P RunExample.cmake
# Runs a program and fails unless it ends with 0 and its output matches every expression, in whatever order.
if(NOT EXPECTED)
  message(FATAL_ERROR "an example without an expected output proves nothing: give its test an expression")
endif()
execute_process(COMMAND ${EMULATOR} "${PROGRAM}" "${ARGUMENT}" RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
message("${output}")
if(NOT result STREQUAL "0")
  message(FATAL_ERROR "${PROGRAM} ended with ${result}")
endif()
foreach(expression IN LISTS EXPECTED)
  if(NOT output MATCHES "${expression}")
    message(FATAL_ERROR "the output does not match: ${expression}")
  endif()
endforeach()
