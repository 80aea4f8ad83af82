// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/backend.hpp>
#include <tenure/key_range.hpp>
#include <tenure/runtime.hpp>

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>

namespace tenure::engine
{

class Acquisition;

/** Orders the acquisitions of one store that want the same keys, once the store has said that all are held: one of
 * them, the head, contends with other processes for all; the others queue, first come first served.
 *
 *  Correctness never depends on it: whoever asks the store is judged by the store. Everything runs on the strand.
 */
class Gate : public std::enable_shared_from_this<Gate>
{
public:
    Gate(KeyRangePtr range, std::shared_ptr<Runtime> runtime, std::shared_ptr<Backend> backend);

    [[nodiscard]] bool closed() const noexcept { return head_ != nullptr; }
    [[nodiscard]] bool is_head(Acquisition const& acquisition) const noexcept { return head_ == &acquisition; }
    /** Hints are expected to come. */
    [[nodiscard]] bool watched() const noexcept { return watch_ != nullptr && !polling_; }
    [[nodiscard]] KeyRange const& range() const noexcept { return *range_; }

    /** Becomes the head if there is none, else joins the queue. True for the head. */
    bool join(Acquisition& acquisition);

    /** An acquisition ends, however: if it was the head, the next one takes its turn and tries at once. */
    void leave(Acquisition& acquisition);

    /** Subscribes to news, unless that was done or tried before. */
    void watch();

    /** A key may have become free. */
    void hint();

    void close();

private:
    void on_event(WatchEvent event);
    /** To the first of the queue. */
    void pass_turn();

    KeyRangePtr range_;
    std::shared_ptr<Runtime> runtime_;
    std::shared_ptr<Backend> backend_;
    Acquisition* head_ = nullptr;
    std::deque<Acquisition*> queue_;
    /// the next head is being found, one after another
    bool passing_ = false;
    std::unique_ptr<Watch> watch_;
    /// the store will send no hints
    bool polling_ = false;
};

/** The gates of one store, by range. */
class Gates
{
public:
    Gates(std::shared_ptr<Runtime> runtime, std::shared_ptr<Backend> backend);

    /** The gate of the range; null if nobody waits there. */
    [[nodiscard]] std::shared_ptr<Gate> find(KeyRange const& range) const;
    [[nodiscard]] std::shared_ptr<Gate> find_or_make(KeyRangePtr const& range);
    /** Somebody left: a gate without waiters is kept for a while, for its subscription's sake. */
    void left(std::shared_ptr<Gate> const& gate);
    void hint(KeyRange const& range) const;
    void close();

private:
    struct Order {
        bool operator()(KeyRange const& left, KeyRange const& right) const noexcept
        {
            return std::tie(left.prefix, left.first, left.count, left.numbered) <
                   std::tie(right.prefix, right.first, right.count, right.numbered);
        }
    };
    struct Entry {
        std::shared_ptr<Gate> gate;
        Runtime::TimerId linger = 0;
    };

    std::shared_ptr<Runtime> runtime_;
    std::shared_ptr<Backend> backend_;
    std::map<KeyRange, Entry, Order> gates_;
    /// outlives nothing: timers that ring after this object has gone find it expired
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

} // namespace tenure::engine
