# Part of tenure, under the Boost Software License 1.0 (see LICENSE).
# TENURE_SANITIZE is a comma-separated list for -fsanitize=, for everything in this build.
set(TENURE_SANITIZE "" CACHE STRING "Sanitizers for the whole build, for example address,undefined or thread")

if(TENURE_SANITIZE)
  add_compile_options(-fsanitize=${TENURE_SANITIZE} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${TENURE_SANITIZE})
  if(TENURE_SANITIZE MATCHES "undefined")
    # A report that does not end the process is a test that cannot fail.
    add_compile_options(-fno-sanitize-recover=undefined)
  endif()
endif()
