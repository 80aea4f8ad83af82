# Part of tenure, under the Boost Software License 1.0 (see LICENSE).
# What lies in lib/ itself; relative to lib/; one source to a line, sorted.
target_sources(
  tenure
  PRIVATE
)
