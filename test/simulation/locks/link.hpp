// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "random.hpp"

#include <store/memory/domain.hpp>
#include <testing/virtual_time.hpp>

#include <tenure/backend/backend.hpp>
#include <tenure/backend/runtime.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace tenure::simulation
{

/** One process's connection to the store: what happens to its messages, and what the checker knows of them. It belongs
 * to one life of the process. */
class Link : public std::enable_shared_from_this<Link>
{
public:
    /** Sees what happens to shares in the store, when it happens. */
    class Witness
    {
    public:
        virtual void claimed(ClaimRequest const& request, ClaimReply const& reply) = 0;
        virtual void renewed(RenewRequest const& request, RenewReply const& reply) = 0;
        /** A release or withdrawal came. */
        virtual void gave_back(KeyRange const& range, std::string const& owner) = 0;

    protected:
        ~Witness() = default;
    };

    Link(testing::VirtualTime& time, std::shared_ptr<memory::Domain> domain, std::uint64_t seed);

    [[nodiscard]] std::shared_ptr<Backend> backend(std::shared_ptr<Runtime> runtime);

    // -- what happens to it --

    /** False: each request fails at once, and no news come. */
    void set_reachable(bool reachable);
    /** Requests sent meanwhile never come to the store, or their replies never come back. */
    void set_loses(bool requests, bool replies);
    void set_longest_delay(std::chrono::microseconds delay) { longest_delay_ = delay; }
    /** News do not come. */
    void set_loses_news(bool lost);
    /** Outlives the link. */
    void set_witness(Witness& witness) { witness_ = &witness; }
    /** Its process has crashed: what is on its way still comes to the store, and nothing else happens. */
    void die() { dead_ = true; }

    // -- for the checker --

    /** Claims, releases or withdrawals are under way whose owners bear this note. */
    [[nodiscard]] bool asking(std::string const& note) const { return asking_.contains(note); }
    /** The process has asked for the release of this owner's key. */
    [[nodiscard]] bool gave_back(std::string const& owner) const { return given_back_.contains(owner); }
    /** Whether the process was told before now that this owner has lost its key. */
    [[nodiscard]] bool knows_of_loss(std::string const& owner) const;
    /** When a message last failed, or could have. */
    [[nodiscard]] Instant last_trouble() const;

private:
    class LinkBackend;
    class Subscription;

    [[nodiscard]] Clock::duration any_delay();
    void report_reachable();
    [[nodiscard]] bool troubled() const noexcept
    {
        return !reachable_ || loses_requests_ || loses_replies_ || loses_news_;
    }
    void notify(WatchEvent event, WatchHandler const& handler);
    /** Runs the task after a while, unless the process has crashed by then. */
    void later(Clock::duration delay, Task task);

    testing::VirtualTime& time_;
    /// where replies and news are delivered
    std::weak_ptr<Runtime> runtime_;
    std::shared_ptr<memory::Domain> domain_;
    /// in lines
    memory::StoreName name_;
    Random random_;
    std::chrono::microseconds longest_delay_{0};
    bool reachable_ = true;
    bool loses_requests_ = false;
    bool loses_replies_ = false;
    bool loses_news_ = false;
    Witness* witness_ = nullptr;
    bool dead_ = false;
    Instant last_trouble_{};
    /// the notes of the owners, one for each request
    std::multiset<std::string> asking_;
    std::set<std::string> given_back_;
    std::map<std::string, Instant> told_of_loss_;
    std::vector<std::function<void()>> on_reachable_;
    std::vector<std::weak_ptr<WatchHandler>> watching_;
};

} // namespace tenure::simulation
