# Part of tenure, under the Boost Software License 1.0 (see LICENSE).
# Warnings belong to this project's own targets: they are PRIVATE and never reach a consumer. The presets turn them into
# errors (CMAKE_COMPILE_WARNING_AS_ERROR).
option(TENURE_WARNINGS "Compile with the project's full set of warnings" ${PROJECT_IS_TOP_LEVEL})

function(tenure_warnings target)
  if(NOT TENURE_WARNINGS)
    return()
  endif()
  target_compile_options(
    ${target}
    PRIVATE -Wall
            -Wextra
            -Wpedantic
            -Wshadow
            -Wconversion
            -Wsign-conversion
            -Wold-style-cast
            -Wcast-align
            -Wcast-qual
            -Woverloaded-virtual
            -Wnull-dereference
            -Wformat=2
            -Wimplicit-fallthrough
            -Wextra-semi
            -Wundef)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(${target} PRIVATE -Wduplicated-cond -Wduplicated-branches -Wlogical-op)
    # False positives of g++ 12 in inlined Asio and libstdc++ code under optimisation and the sanitizers.
    if(CMAKE_CXX_COMPILER_VERSION VERSION_LESS 14)
      target_compile_options(${target} PRIVATE -Wno-null-dereference -Wno-maybe-uninitialized -Wno-restrict
                                               -Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread)
    endif()
    # g++ does not instrument atomic_thread_fence under TSan and says so for Asio's use of it.
    if(TENURE_SANITIZE MATCHES "thread")
      target_compile_options(${target} PRIVATE -Wno-tsan)
    endif()
  endif()
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    # std::stable_sort of libstdc++ 12 uses what libstdc++ 12 itself deprecates; clang blames the caller.
    target_compile_options(${target} PRIVATE -Wno-deprecated-declarations)
  endif()
endfunction()
