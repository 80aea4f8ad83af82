// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Election: a lock whose holder leads, and the view of its leader.
#include <tenure/election.hpp>

#include "view_reader.hpp"

#include "engine/completion.hpp"
#include "engine/lease_target.hpp"
#include "engine/owner_text.hpp"

#include <string_view>
#include <utility>

namespace tenure
{

namespace
{

std::shared_ptr<engine::LeaseTarget> contest_of(std::shared_ptr<engine::Handle> store, ElectionConfig const& config)
{
    check_key("ElectionConfig::name", config.name);
    check_note("ElectionConfig::contact", config.contact);
    auto range = config.fair ? shared_key(config.name) : named_key(config.name);
    auto const share = config.fair ? std::optional(Share()) : std::nullopt;
    return std::make_shared<engine::LeaseTarget>(
        std::move(store), std::move(range), "ElectionConfig", config.ttl, config.lease, config.contact,
        std::chrono::milliseconds{0}, share);
}

/** True if a program holds the key, and no operator has evicted it. */
bool is_led(KeyState const& key)
{
    return key.kind == KeyState::Kind::held && !std::string_view(key.owner).starts_with("evicted/");
}

bool same_leader(KeyState const& left, KeyState const& right)
{
    return is_led(left) == is_led(right) && (!is_led(left) || left.owner == right.owner);
}

Leader leader_of(ViewSnapshot const& view)
{
    Leader leader;
    leader.version = view.version;
    leader.age = view.age;
    if (view.keys.empty())
        return leader;
    auto const& key = view.keys.front();
    leader.state = view.stale ? Leader::State::stale : is_led(key) ? Leader::State::present : Leader::State::none;
    if (!is_led(key))
        return leader;
    if (auto owner = read_owner(key.owner)) {
        leader.name = std::move(owner->worker);
        leader.contact = std::move(owner->note);
    }
    if (key.fencing_token != 0)
        leader.fencing_token = key.fencing_token;
    return leader;
}

} // namespace

Election::Election(Store store, ElectionConfig config)
    : AcquirableKeys(contest_of(store.handle_, config))
    , view_(std::make_shared<locks::ViewHandle>(store.handle_, range(), "ElectionConfig", config.refresh, &same_leader))
{
}

std::string const& Election::name() const noexcept
{
    return state_for()->range()->prefix;
}

Leader Election::leader() const
{
    return leader_of(view_->reader().snapshot());
}

asio::any_io_executor const& Election::executor_of_view(ViewPtr const& view) noexcept
{
    return view->runtime().user_executor();
}

void Election::start_next_leader(
    ViewPtr const& view, std::uint64_t seen, asio::any_completion_handler<void(error_code, Leader)> handler)
{
    engine::Completion<void(error_code, Leader)> completion(std::move(handler), &view->runtime());
    auto const slot = completion.slot();
    view->reader().wait(
        seen, slot,
        [completion = std::move(completion)](engine::Known known, error_code error, ViewSnapshot&& snapshot) mutable {
            std::move(completion).complete(known, error, leader_of(snapshot));
        },
        view);
}

} // namespace tenure
