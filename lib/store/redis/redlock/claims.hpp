// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// The claims of this process.
#pragma once

#include "quorum.hpp"

#include <tenure/backend/backend.hpp>
#include <tenure/clock.hpp>

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace tenure::redlock
{

class MajorityClaim;

/** What the claims of this process know of each other's keys. Belongs to the strand. */
class ContendedKeys
{
public:
    /** A claim of this process is voting on the key: another claim skips it. */
    [[nodiscard]] bool contains(std::string_view key) const { return voted_on_.contains(key); }
    void add(std::string key) { voted_on_.insert(std::move(key)); }
    void remove(std::string const& key) { voted_on_.erase(key); }

    /** Others held the key lately. A claim without a look takes such a key on a minority for a moment, and may keep its
     * holder from getting that back. */
    [[nodiscard]] bool contended(std::string_view key, Instant now) const
    {
        auto const found = contended_until_.find(key);
        return found != contended_until_.end() && now < found->second;
    }
    void note_contended(std::string const& key, Instant until)
    {
        if (contended_until_.size() >= most_contended)
            contended_until_.clear();
        contended_until_[key] = until;
    }

private:
    static constexpr std::size_t most_contended = 4096;

    std::set<std::string, std::less<>> voted_on_;
    std::map<std::string, Instant, std::less<>> contended_until_;
};

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

    /** To be called when the nodes are closed: drops all claims, and none of them waits for a timer. Requests under way
     * end as their node answers them. */
    void close();

    /** For claims: that one is over, and there is nothing left of it to stop. */
    void remove(MajorityClaim const& candidacy);

private:
    QuorumPtr quorum_;
    std::shared_ptr<ContendedKeys> candidates_;
    // by owner
    std::map<std::string, std::shared_ptr<MajorityClaim>, std::less<>> under_way_;
};

/** Frees what a node has granted to the owner beyond what is wanted. */
void give_back(
    redis::VoterBackend& node, KeyRangePtr key, std::string owner, Instant not_after,
    ReplyHandler<ReleaseReply> handler);

} // namespace tenure::redlock
