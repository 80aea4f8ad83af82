// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "figures/compared.hpp"

#include "harness/child.hpp"
#include "library/workloads.hpp"

#include <utility>

namespace bench
{

namespace
{

constexpr auto features = library::by_default;

} // namespace

Candidate split(std::string name, std::function<Measurement()> work)
{
    return {std::move(name), [work = std::move(work)] { return in_child(Place::split, work); }};
}

void compare_handovers(Setting const& setting, ComparedHandovers const& compared)
{
    auto const times = setting.extent.handovers;
    Handover const raw{compared.raw_hold, compared.raw_wait, compared.observe};
    Handover const library{
        [url = compared.url](int control) { library::hold(url, control, features); },
        [url = compared.url](int control) { library::wait(url, control, features); }, compared.observe};
    auto const all = interleave(
        setting.extent.rounds, {split("raw, one watch", [=] { return conduct(times, raw); }),
                                split("lock", [=] { return conduct(times, library); })});
    for (auto const& series : all)
        setting.report.medians(compared.store + ", p50, release to acquire in another process", series, "us");
    // the fastest tenth shows a program's own cost even while other programs use the machine
    for (auto const& series : all)
        setting.report.medians(compared.store + ", p10 of the same", series, "us", 1);
    setting.report.figure(compared.figure, all[1].median() / all[0].median(), Goal::at_most, compared.limit);
}

} // namespace bench
