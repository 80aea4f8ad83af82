// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "simulated_client.hpp"

#include "simulation/redis/settings.hpp"

#include <stdexcept>

namespace tenure::simulation
{

std::string encode(Commands const& commands)
{
    std::string bytes;
    for (auto const& words : commands) {
        bytes += "*" + std::to_string(words.size()) + "\r\n";
        for (auto const& word : words)
            bytes += "$" + std::to_string(word.size()) + "\r\n" + word + "\r\n";
    }
    return bytes;
}

std::string answer_to_last_words()
{
    return "$" + std::to_string(last_words.size()) + "\r\n" + std::string(last_words) + "\r\n";
}

QuietWorld::QuietWorld()
{
    std::uint64_t seed = 1;
    for (;; ++seed) {
        auto const settings = make_redis_settings(seed);
        if (settings.flavor.version == "7.0.15" && settings.client.password.empty() && settings.client.database == 0 &&
            settings.strictness == Strictness::as_redis)
            break;
    }
    plan_ = make_plan(seed);
    plan_.faults.clear();
    plan_.end = 0;
    plan_.settings.workers = 0;
    plan_.settings.noise = {};
    plan_.settings.hints = true;
    auto const outcome = world.run(plan_);
    if (outcome.violation.rule != Rule::none)
        throw std::logic_error("a world without workers is quiet");
}

void QuietWorld::strike(FaultKind kind)
{
    Fault fault;
    fault.kind = kind;
    network().strike(fault);
}

SimulatedClient::SimulatedClient(QuietWorld& world)
    : world_(world)
    , id_(world.network().dial(*this, 0, 0))
{
    while (!connected_ && goes_on()) {
    }
}

void SimulatedClient::dialed(error_code error)
{
    connected_ = !error;
    failure_ = error;
}

bool SimulatedClient::goes_on()
{
    auto& scheduler = world_.world.scheduler;
    return scheduler.run_ready() || scheduler.advance();
}

std::string SimulatedClient::exchange(Commands const& commands)
{
    auto const bytes = encode(commands) + encode({{"PING", std::string(last_words)}});
    for (auto rest = std::string_view(bytes); !rest.empty();)
        rest.remove_prefix(world_.network().send_now(id_, rest));
    std::string replies;
    auto const end = answer_to_last_words();
    while (!replies.ends_with(end) && !failure_ && (world_.network().has_input(id_) || goes_on()))
        replies += world_.network().take(id_, failure_);
    return replies;
}

} // namespace tenure::simulation
