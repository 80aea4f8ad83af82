# Part of tenure, under the Boost Software License 1.0 (see LICENSE).
# cmake -DCOMPILER=... -DSOURCE_DIR=... -DFEATURES_DIR=... -DBOOST_INCLUDE=... -P check_work.cmake
# work.cpp compiles as it is; each mistake in it ends in one error, which says what the work or the token must be.
cmake_minimum_required(VERSION 3.25)
function(compile mistake)
  execute_process(
    COMMAND "${COMPILER}" -std=c++20 -fsyntax-only "-DMISTAKE=${mistake}" "-I${SOURCE_DIR}/include" "-I${FEATURES_DIR}" "-I${BOOST_INCLUDE}"
            "${SOURCE_DIR}/test/package/work.cpp"
    RESULT_VARIABLE result
    ERROR_VARIABLE errors)
  set(result "${result}" PARENT_SCOPE)
  set(errors "${errors}" PARENT_SCOPE)
endfunction()

compile(0)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "work.cpp does not compile:\n${errors}")
endif()
foreach(mistake RANGE 1 11)
  compile(${mistake})
  set(sentence "the work must be callable with .* and return boost::asio::awaitable")
  if(mistake GREATER 4)
    set(sentence "the last argument of an operation is a completion token")
  endif()
  if(mistake GREATER 8)
    set(sentence "the handler must be callable with the results of the operation")
  endif()
  string(REGEX MATCHALL " error: [^\n]*" found "${errors}")
  list(LENGTH found count)
  if(NOT count EQUAL 1 OR NOT found MATCHES "${sentence}")
    message(SEND_ERROR "mistake ${mistake}: ${count} errors instead of the one sentence:\n${errors}")
  endif()
endforeach()
