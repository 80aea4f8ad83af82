// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Majority claims of this process.
#pragma once

#include "quorum.hpp"
#include "runtime/names.hpp"

#include <store/claim_window.hpp>
#include <store/redis/link/hedged_link.hpp>
#include <store/redis/link/pace.hpp>
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

/** Keys for which claims of this process contend. On the strand. */
class ContendedKeys
{
public:
    /** True if a claim of this process is voting on the key: another claim skips it. */
    [[nodiscard]] bool contains(std::string_view key) const { return voted_on_.contains(key); }
    void add(std::string key) { voted_on_.insert(std::move(key)); }
    void remove(std::string const& key) { voted_on_.erase(key); }

    /** True if others held the key recently. A claim without a preceding read takes such a key briefly on a minority,
     *  and may keep its holder from regaining that. */
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

/** The pending claims of this process. As many vote at once as the servers decide soon; the others wait for their turn.
 *  On the strand. */
class Claims
{
public:
    /// most claims that vote at once
    static constexpr std::size_t most_voting = redis::HedgedLink::most_claims;

    explicit Claims(QuorumPtr quorum);

    /** Claims the first key of the range that is free on a majority. It answers once, by `not_after` or its own limit.
     *  Keys of a failed claim are given back; an answer with unknown effect says that some may be left. Do not reuse
     *  its owner, because that may still be pending. A second request of an owner during its claim gets the same
     *  answer. */
    static void claim(std::shared_ptr<Claims> const& self, ClaimRequest request, ReplyHandler<ClaimReply> handler);

    /** Stops the claim of an owner whose grant is being given back: it takes nothing more. */
    void stop(std::string_view owner);

    /** Drops claims whose owners have given up before their turn came. */
    void drop_abandoned() { window_->drop_abandoned(); }

    /** A claim was decided, or gave up.
     *  @param took    since its turn came
     *  @param target  the longest that it should take
     *  @param place   claims that voted when its turn came, with this one */
    void decided(Clock::duration took, Clock::duration target, std::size_t place);

    /** Claims that vote now. */
    [[nodiscard]] std::size_t voting() const noexcept { return window_->begun(); }

    /** Call it when the nodes are closed: drops all claims, which then wait for no timer. Pending requests end with
     *  the answer of their node. */
    void close();

    /** Deregisters a finished claim that has nothing left to stop. */
    void remove(MajorityClaim const& candidacy);

private:
    QuorumPtr quorum_;
    std::shared_ptr<ContendedKeys> candidates_;
    store::ClaimWindowPtr window_;
    /// sets the size of the window
    redis::Pace pace_{most_voting};
    // by owner
    std::map<std::string, std::shared_ptr<MajorityClaim>, std::less<>> under_way_;
};

/** Frees unwanted grants of the owner on a node. */
void give_back(
    redis::VoterBackend& node, KeyRangePtr key, std::string owner, Instant not_after,
    ReplyHandler<ReleaseReply> handler);

} // namespace tenure::redlock
