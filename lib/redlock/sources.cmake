# Part of tenure, under the Boost Software License 1.0 (see LICENSE).
# Relative to lib/; one source to a line, sorted.
target_sources(
  tenure
  PRIVATE
    redlock/backend.cpp
    redlock/candidacy.cpp
    redlock/candidacy_votes.cpp
    redlock/claim_outcome.cpp
    redlock/claims.cpp
    redlock/config.cpp
    redlock/give_back.cpp
    redlock/hold.cpp
    redlock/look.cpp
    redlock/ready.cpp
    redlock/split_vote.cpp
    redlock/survey.cpp
    redlock/token_agreement.cpp
    redlock/votes.cpp
    redlock/watch.cpp
)
