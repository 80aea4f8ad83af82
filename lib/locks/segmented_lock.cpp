// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// SegmentedLock: a MultiLock over the segments of the items.
#include <tenure/segmented_lock.hpp>

#include "part_lock.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <stdexcept>
#include <utility>
#include <vector>

namespace tenure
{

namespace locks
{

/** The locks of the segments. They are made once if the number of segments is known. */
class SegmentLocks
{
public:
    SegmentLocks(Store store, SegmentedLockConfig config)
        : store_(std::move(store))
        , config_(std::move(config))
    {
        for (std::uint32_t number = 0; number < config_.segments.count(); ++number) {
            auto const suffix = config_.segments.suffix(number);
            locks_.emplace(suffix, lock(suffix));
        }
        // reports invalid options now, not at the first item
        if (locks_.empty())
            (void)lock("0");
    }

    [[nodiscard]] SegmentedLockConfig const& config() const noexcept { return config_; }

    void add(std::vector<Lock>& locks, std::string const& suffix) const
    {
        auto const known = locks_.find(suffix);
        locks.push_back(known != locks_.end() ? known->second : lock(suffix));
    }
    void add(std::vector<Lock>& locks, SegmentItem item) const
    {
        add(locks, config_.segments.suffix_of(item));
        if (config_.also)
            add(locks, config_.also->suffix_of(item));
    }

private:
    [[nodiscard]] Lock lock(std::string const& suffix) const
    {
        return PartLock(
            store_, {config_.prefix + suffix, config_.ttl, config_.lease, config_.note}, "SegmentedLockConfig",
            "prefix with the segment");
    }

    Store store_;
    SegmentedLockConfig config_;
    std::map<std::string, Lock, std::less<>> locks_;
};

} // namespace locks

SegmentedLock::SegmentedLock(Store store, SegmentedLockConfig config)
    : locks_(std::make_shared<locks::SegmentLocks const>(std::move(store), std::move(config)))
{
}

MultiLock SegmentedLock::for_item(SegmentItem item) const
{
    return for_items(std::span(&item, 1));
}

MultiLock SegmentedLock::for_items(std::span<SegmentItem const> items) const
{
    if (items.empty())
        throw std::invalid_argument("SegmentedLock was asked for the segments of no items: name one at least");
    std::vector<Lock> locks;
    for (auto const& item : items)
        locks_->add(locks, item);
    return MultiLock(std::move(locks));
}

MultiLock SegmentedLock::segment(std::uint32_t number) const
{
    std::vector<Lock> locks;
    locks_->add(locks, locks_->config().segments.suffix(number));
    return MultiLock(std::move(locks));
}

MultiLock SegmentedLock::all() const
{
    auto const& config = locks_->config();
    if (config.segments.count() == 0 || (config.also && config.also->count() == 0))
        throw std::invalid_argument("SegmentedLock of windows has no end: acquire the windows of the items");
    std::vector<Lock> locks;
    auto const add_all = [&](Segments const& segments) {
        for (std::uint32_t number = 0; number < segments.count(); ++number)
            locks_->add(locks, segments.suffix(number));
    };
    add_all(config.segments);
    if (config.also)
        add_all(*config.also);
    return MultiLock(std::move(locks));
}

std::string SegmentedLock::key_of(SegmentItem item) const
{
    return locks_->config().prefix + locks_->config().segments.suffix_of(item);
}

} // namespace tenure
