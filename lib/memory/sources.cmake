# Part of tenure, under the Boost Software License 1.0 (see LICENSE).
# Relative to lib/; one source to a line, sorted.
target_sources(
  tenure
  PRIVATE
    memory/backend.cpp
    memory/domain.cpp
    memory/lines.cpp
)
