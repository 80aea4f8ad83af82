// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "exchange.hpp"

#include <array>
#include <cstddef>
#include <functional>
#include <list>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

namespace tenure::etcd
{

/** Requests that wait for a connection, in one queue per `Line`. Each queue is first in, first out, and a queue is
 *  served only while those before it are empty.
 *
 *  Adding and removing a request costs at most the logarithm of the number of requests. Everything runs on the
 *  strand. */
class RequestQueue
{
public:
    struct Entry {
        HttpRequest request;
        OutcomeHandler handler;
        /// was sent before with a token that was refused
        bool again = false;
    };

    RequestQueue() = default;
    RequestQueue(RequestQueue const&) = delete;
    RequestQueue& operator=(RequestQueue const&) = delete;
    ~RequestQueue() = default;

    /** Adds a request at the end of its queue. */
    void add(Entry entry);
    /** Adds a request at the front of its queue: it was taken out, and was not executed. */
    void put_back(Entry entry);

    /** Takes out the next request; nullopt: the queue is empty. */
    [[nodiscard]] std::optional<Entry> take_next();
    /** Takes out all requests whose deadline has passed. */
    [[nodiscard]] std::vector<Entry> take_overdue(Instant now);
    /** Takes out the requests of this owner. */
    [[nodiscard]] std::vector<Entry> take_of(OwnerTag owner);
    /** Takes out requests whose owners have given up. Some may stay until a later call, so that many calls cost no
     *  more than one pass over the queue each time it has been called for a fraction of its size. */
    [[nodiscard]] std::vector<Entry> take_abandoned();
    /** Takes out the requests for which this is true; costs a pass over the queue. */
    [[nodiscard]] std::vector<Entry> take_if(std::function<bool(HttpRequest const&)> const& wanted);
    [[nodiscard]] std::vector<Entry> take_all();

    /** Reports progress for the later steps of claims: the server answers what was sent before them. */
    void note_progress(Instant now) const noexcept;

    /** The earliest deadline of a request. */
    [[nodiscard]] Instant next_deadline() const noexcept;
    [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
    [[nodiscard]] std::size_t size() const noexcept { return size_; }

private:
    struct Node;
    using Nodes = std::list<Node>;
    using Deadlines = std::multimap<Instant, Nodes::iterator>;
    using Owners = std::unordered_multimap<OwnerTag, Nodes::iterator>;
    struct Node {
        Entry entry;
        /// place among the deadlines; end: the request has none
        Deadlines::iterator deadline;
        /// place among the owners; end: the request has none
        Owners::iterator owner;
    };

    [[nodiscard]] Nodes& line_of(Entry const& entry) noexcept
    {
        return lines_[static_cast<std::size_t>(entry.request.sender.line)];
    }
    void insert(Entry entry, bool at_end);
    /** Takes a request out of its queue and both indexes. */
    [[nodiscard]] Entry take_out(Nodes::iterator node);

    /// one queue per `Line`
    std::array<Nodes, 3> lines_;
    /// the requests that have a deadline, by deadline
    Deadlines deadlines_;
    /// the requests of owners, by owner
    Owners owners_;
    std::size_t size_ = 0;
    /// calls of `take_abandoned` since it last passed over the queue
    std::size_t abandoned_calls_ = 0;
};

} // namespace tenure::etcd
