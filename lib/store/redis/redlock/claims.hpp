// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "candidates.hpp"
#include "quorum.hpp"

#include <tenure/backend/backend.hpp>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace tenure::redlock
{

class Candidacy;
class SplitVote;

/** The claims of this process that are under way. Belongs to the strand. */
class Claims : public std::enable_shared_from_this<Claims>
{
public:
    explicit Claims(QuorumPtr quorum);

    /** Takes the first key of the range that is free on a majority, on a majority: answers once, by `not_after` or its
     * own patience, whichever is sooner. What it took without success it gives back, as soon as it knows of it; an
     * answer of unknown effect says that some of it may be left. Its owner must not be used again, because that may
     * still be under way. The same owner that asks again while its claim is under way gets the same answer. */
    void claim(ClaimRequest request, ReplyHandler<ClaimReply> handler);

    /** What was granted to the owner is being given back: nothing more is taken for it. */
    void stop(std::string_view owner);

    /** To be called when the nodes are closed: lets go of all claims, and nothing of them waits for time to pass. What
     * a node was asked ends as that node answers it. */
    void close();

    // -- for the claims themselves --

    /** A claim was granted without these nodes; stops with its lease. */
    void add(std::shared_ptr<SplitVote> split_vote);
    /** It is over: there is nothing left to stop. */
    void remove(Candidacy const& candidacy);
    void remove(SplitVote const& split_vote);

private:
    QuorumPtr quorum_;
    std::shared_ptr<Candidates> candidates_;
    // by owner
    std::map<std::string, std::shared_ptr<Candidacy>, std::less<>> under_way_;
    std::map<std::string, std::shared_ptr<SplitVote>, std::less<>> split_votes_;
};

} // namespace tenure::redlock
