# Part of tenure, under the Boost Software License 1.0 (see LICENSE).
# Three tiers (docs/contributors/testing.md). Each test has one of them as its label, and each tier has a target that builds what it runs:
#   smoke     no server, half a minute
#   default   real servers, one of each kind
#   full      everything else; `all` builds it
add_custom_target(tenure_smoke_tests)
add_custom_target(tenure_default_tests)
add_custom_target(tenure_full_tests)
add_dependencies(tenure_default_tests tenure_smoke_tests)
add_dependencies(tenure_full_tests tenure_default_tests)

# tenure_tier(TIER TARGET...): the tests of this tier run these targets.
function(tenure_tier tier)
  add_dependencies(tenure_${tier}_tests ${ARGN})
endfunction()

# tenure_test(TIER NAME [TIMEOUT seconds] [PROPERTIES property value...] COMMAND command [argument...]): one test that is a
# program of its own. 4 as its exit status says that it was skipped.
function(tenure_test tier name)
  cmake_parse_arguments(PARSE_ARGV 2 argument "" "TIMEOUT" "PROPERTIES;COMMAND")
  add_test(NAME "${name}" COMMAND ${argument_COMMAND})
  set_tests_properties("${name}" PROPERTIES LABELS ${tier} SKIP_RETURN_CODE 4 ${argument_PROPERTIES})
  if(argument_TIMEOUT)
    set_tests_properties("${name}" PROPERTIES TIMEOUT ${argument_TIMEOUT})
  endif()
endfunction()
