# Part of tenure, under the Boost Software License 1.0 (see LICENSE).
# Relative to lib/; one source to a line, sorted.
target_sources(
  tenure
  PRIVATE
    redlock/backend.cpp
    redlock/claim.cpp
    redlock/config_from_url.cpp
    redlock/config_rules.cpp
    redlock/hold.cpp
    redlock/look.cpp
    redlock/survey.cpp
    redlock/votes.cpp
    redlock/watch.cpp
)
