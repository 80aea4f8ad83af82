// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "figures/figures.hpp"

#include "harness/child.hpp"
#include "harness/handover.hpp"
#include "library/workloads.hpp"
#include "raw/client.hpp"
#include "raw/workloads.hpp"

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

namespace bench
{

namespace
{

class RedisObserver final : public Observer
{
public:
    explicit RedisObserver(std::uint16_t port)
        : client_(port)
    {
    }

    long long requests_of_others() override
    {
        statistics_ = client_.ask({"INFO", "stats"}).text;
        return field("total_commands_processed:") - ++own_;
    }
    [[nodiscard]] bool listened() const override { return field("pubsub_channels:") > 0; }

private:
    [[nodiscard]] long long field(std::string_view name) const
    {
        auto const position = statistics_.find(name);
        if (position == std::string::npos)
            throw std::runtime_error("INFO has no " + std::string(name));
        return std::stoll(statistics_.substr(position + name.size()));
    }

    raw::Client client_;
    std::string statistics_;
    /// commands of this object, which the server counts too
    long long own_ = 0;
};

} // namespace

void measure_handover(Setting const& setting)
{
    auto const port = setting.redis.port();
    auto const url = setting.redis.url();
    auto const times = setting.extent.handovers;
    auto const observe = [port] { return std::make_unique<RedisObserver>(port); };
    auto const run = [&](std::string name, std::function<void(int)> hold, std::function<void(int)> wait) {
        return Candidate{
            std::move(name), [&setting, times, handover = Handover{std::move(hold), std::move(wait), observe}] {
                setting.redis.flush();
                return in_child(Place::split, [&] { return conduct(times, handover); });
            }};
    };
    auto const library = [&](std::string name, library::Features features) {
        return run(
            std::move(name), [=](int control) { library::hold(url, control, features); },
            [=](int control) { library::wait(url, control, features); });
    };
    auto const all = interleave(
        setting.extent.rounds, {run(
                                    "raw, publish, then SET", [=](int control) { raw::hold(port, control); },
                                    [=](int control) { raw::wait(port, control); }),
                                library("lock", {false, true}), library("lock, default", library::by_default),
                                library("fair lock", library::fair)});
    for (auto const& series : all)
        setting.report.medians("p50, release to acquire in another process", series, "us");
    setting.report.figure("handover", all[1].median() / all[0].median(), Goal::at_most, 1.5);
    setting.report.figure("handover_default", all[2].median() / all[1].median(), Goal::at_most, 1.15);
    setting.report.figure("handover_fair", all[3].median() / all[2].median(), Goal::at_most, 1);
}

} // namespace bench
