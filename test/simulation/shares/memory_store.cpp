// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// The layer of shares over the store inside the process.
#include "shared_store.hpp"

#include "locks/link.hpp"

#include <store/memory/domain.hpp>

#include <utility>

namespace tenure::simulation
{

namespace
{

class MemoryLink final : public ProcessLink
{
public:
    explicit MemoryLink(std::shared_ptr<Link> link)
        : link_(std::move(link))
    {
    }

    std::shared_ptr<Backend> backend(std::shared_ptr<Runtime> runtime) override
    {
        return link_->backend(std::move(runtime));
    }
    void set_reachable(bool reachable) override { link_->set_reachable(reachable); }
    void set_loses(bool requests, bool replies) override { link_->set_loses(requests, replies); }
    void set_loses_news(bool lost) override { link_->set_loses_news(lost); }
    void set_longest_delay(std::chrono::microseconds delay) override { link_->set_longest_delay(delay); }
    void die() override { link_->die(); }
    Instant last_trouble() const override { return link_->last_trouble(); }

private:
    std::shared_ptr<Link> link_;
};

class MemoryStore final : public SharedStore
{
public:
    MemoryStore(testing::VirtualTime& time, PlaceBook& book)
        : time_(time)
        , book_(book)
    {
    }

    std::shared_ptr<ProcessLink> link(std::uint64_t seed) override
    {
        auto const link = std::make_shared<Link>(time_, domain_, seed);
        link->set_witness(book_);
        return std::make_shared<MemoryLink>(link);
    }

private:
    testing::VirtualTime& time_;
    PlaceBook& book_;
    std::shared_ptr<memory::Domain> domain_ = memory::Domain::named("");
};

} // namespace

std::unique_ptr<SharedStore> make_shared_store(testing::VirtualTime& time, PlaceBook& book)
{
    return std::make_unique<MemoryStore>(time, book);
}

SmallLayer const small_layer{"shares", run_share_world};

} // namespace tenure::simulation
