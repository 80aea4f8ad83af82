# Part of tenure, under the Boost Software License 1.0 (see LICENSE).
# From the URL of a store to its config, and the rules of fields that several configs have; relative to lib/; one source to
# a line, sorted.
target_sources(
  tenure
  PRIVATE
    config/rules.cpp
    config/url.cpp
    config/url_options.cpp
)
