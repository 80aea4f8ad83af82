// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "random.hpp"
#include "timeline.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>
#include <list>
#include <vector>

namespace tenure::simulation
{

/** The numbers of a pool in a store, and the line of claims that wait for one. A claim and its lease have one id. */
class Pool
{
public:
    using Number = std::uint32_t;
    using Id = std::uint64_t;

    Pool(Timeline& timeline, Random& random, Number size, Clock::duration ttl)
        : timeline_(timeline)
        , random_(random)
        , keys_(size)
        , ttl_(ttl)
    {
    }

    /** Claims the first free number, or waits.
     *  @param present  false: its process does not claim now
     *  @param granted  called at the store */
    void claim(Id id, std::function<bool()> present, std::function<void(Number)> granted)
    {
        waiting_.push_back({id, std::move(present), std::move(granted)});
        serve();
    }
    /** Some who wait may be present again. */
    void serve()
    {
        for (Number number = 0; number < keys_.size(); ++number) {
            auto& key = keys_[number];
            if (key.lease != 0)
                continue;
            // mostly in line, but others may be faster
            auto waiter = waiting_.begin();
            if (random_.chance(2000) && !waiting_.empty())
                std::advance(waiter, random_.below(static_cast<std::uint32_t>(waiting_.size())));
            waiter = std::find_if(waiter, waiting_.end(), [](Waiter const& one) { return one.present(); });
            if (waiter == waiting_.end())
                waiter = std::ranges::find_if(waiting_, [](Waiter const& one) { return one.present(); });
            if (waiter == waiting_.end())
                return;
            auto const served = std::move(*waiter);
            waiting_.erase(waiter);
            key.lease = served.id;
            keep(key);
            served.granted(number);
        }
    }
    /** False: the lease is over. */
    bool renew(Id id)
    {
        auto* const key = find(id);
        if (key != nullptr)
            keep(*key);
        return key != nullptr;
    }
    /** Ends a lease, or a claim that waits. */
    void release(Id id)
    {
        waiting_.remove_if([id](Waiter const& waiter) { return waiter.id == id; });
        if (auto* const key = find(id); key != nullptr) {
            key->lease = 0;
            serve();
            if (on_release)
                on_release();
        }
    }
    /** The numbers that are taken. */
    [[nodiscard]] std::vector<Number> taken() const
    {
        std::vector<Number> all;
        for (Number number = 0; number < keys_.size(); ++number)
            if (keys_[number].lease != 0)
                all.push_back(number);
        return all;
    }
    [[nodiscard]] Id holder(Number number) const { return keys_[number].lease; }

    /// tells observers of a release; an expiry is not announced
    std::function<void()> on_release;

private:
    struct Key {
        Id lease = 0;
        Instant expires{};
    };
    struct Waiter {
        Id id;
        std::function<bool()> present;
        std::function<void(Number)> granted;
    };

    [[nodiscard]] Key* find(Id id)
    {
        for (auto& key : keys_)
            if (key.lease == id)
                return &key;
        return nullptr;
    }
    void keep(Key& key)
    {
        key.expires = timeline_.now() + ttl_;
        timeline_.at(key.expires, [this, &key, id = key.lease] {
            if (key.lease != id || timeline_.now() < key.expires)
                return;
            key.lease = 0;
            serve();
        });
    }

    Timeline& timeline_;
    Random& random_;
    std::vector<Key> keys_;
    Clock::duration ttl_;
    std::list<Waiter> waiting_;
};

} // namespace tenure::simulation
