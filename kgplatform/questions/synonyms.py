"""Everyday words that mean the same, English and Chinese, by walks of life: *game* finds a class that is called match.

A line is a sense: its name, and the words and phrases for it. `kgplatform.questions.wording` reads them with its own
senses, which are those of questions in general. A word may stand in several lines.
"""

# ruff: noqa: E501
from __future__ import annotations

from typing import Final

SYNONYMS: Final = """
match: match, game, fixture, 比赛, 赛事, 场比赛
team: team, club, squad, 球队, 俱乐部, 队伍, 战队, 代表队
stadium: stadium, arena, ballpark, sports ground, 球场, 体育场, 体育馆, 场馆
coach: coach, trainer, team manager, head coach, coached by, 教练, 主教练, 主帅
spectator: attendance, spectator, crowd, audience, turnout, viewer, 观众, 观众人数, 上座人数, 观众数
holding: capacity, seat, hold, fit, fit into, accommodate, seating, 容量, 容纳, 座位数, 容纳人数
goalkeeper: goalkeeper, keeper, goalie, 守门员, 门将
forward: forward, striker, attacker, 前锋
captain: captain, skipper, 队长
footballer: player, footballer, sportsman, sportswoman, athlete, 球员, 运动员, 选手
nickname: nickname, nicknamed, known as, aka, alias, 绰号, 外号, 昵称, 别名, 别称
jersey: shirt, jersey, 球衣, 球服
champion: champion, winner, won, win, title holder, win the title, won the title, title, 冠军, 夺冠, 获胜者, 赢家
nationality: nationality, citizenship, citizen of, come from, 国籍, 哪国人, 来自
birthplace: place of birth, birthplace, born in, native of, hometown, 出生地, 生于, 出生于, 籍贯, 家乡
rival: rival, opponent, arch rival, derby, 对手, 死敌, 宿敌
assist: assist, assisted by, set up, 助攻
goal: goal, score, scorer, 进球, 得分
referee: referee, umpire, official, 裁判, 主裁判
transfer: transfer, signing, 转会
round: round, matchday, gameweek, 轮次, 轮
employee: employee, staff, worker, personnel, staff member, colleague, workforce, 员工, 职员, 雇员, 职工, 工作人员, 同事
supervisor: supervise, supervised by, supervisor, report to, report, boss, line manager, 上级, 主管, 汇报
salary: salary, make a year, compensation, paid, get paid, annual pay, 年薪, 月薪, 薪资, 薪酬
teacher: teacher, instructor, professor, lecturer, faculty, faculty member, academic staff, educator, tutor, 教师, 老师, 讲师, 教授, 教员
course: course, class, module, subject, 课程, 课, 科目
student: student, pupil, learner, undergraduate, 学生, 学员
enrolment: enrolment, enrollment, registration, enrol, enroll, registered for, register for, sign up, signed up, take part, 选课, 注册, 报名, 选修
department: department, division, business unit, 部门, 科室, 处室
doctor: doctor, physician, medic, clinician, 医生, 大夫, 医师
illness: disease, illness, condition, disorder, ailment, diagnosis, diagnosed, sickness, 疾病, 病, 病症, 诊断
medicine: drug, medicine, medication, prescription, 药, 药品, 药物, 处方
hospital: hospital, clinic, infirmary, 医院, 诊所
film: film, movie, motion picture, 电影, 影片, 片子
director: director, directed by, filmmaker, 导演, 执导
song: song, track, tune, 歌曲, 歌, 曲子
album: album, record, lp, 专辑, 唱片
singer: singer, vocalist, recording artist, musician, band, 歌手, 音乐人, 乐队
book: book, volume, novel, title, 书, 书籍, 图书, 小说
publisher: publisher, publishing house, press, 出版社, 出版商
lend: lend, loan, lent, borrow, borrowed by, on loan, check out, 借, 借阅, 借出, 借展, 出借
borrower: borrower, borrow, 借方, 借阅人, 借入
artwork: artwork, work, work of art, piece, art object, exhibit, 作品, 艺术品, 展品, 藏品, 美术作品
artist: artist, painter, sculptor, creator, created by, made by, painted by, paint, sculpt, create, 艺术家, 画家, 雕塑家, 创作者, 创作
painting: painting, canvas, picture, 画, 画作, 绘画, 油画
sculpture: sculpture, statue, 雕塑, 雕像
material: material, medium, made of, made from, fabric, 材料, 材质, 用料, 制成
movement: movement, style, school, ism, art movement, 流派, 风格, 画派
museum: museum, gallery, 博物馆, 美术馆
hall: room, hall, gallery, 展厅, 房间, 展室, 厅
floor: floor, storey, story, level, 楼层, 层
display: on display, displayed in, on view, on show, exhibited in, shown in, hang in, hang, kept in, 展出, 陈列, 展示, 摆放
acquisition: acquire, acquired, acquisition, buy, bought, purchase, purchased, obtain, obtained, enter the collection, 购入, 收购, 入藏, 购买, 购得, 买进, 买
sale: sell, sold, sale, 出售, 卖, 销售
restoration: restoration, restore, restored, conservation, conserve, 修复, 保护修复
restorer: restorer, conservator, restored by, 修复师, 修复者
insurance: insurance, insured for, insure, 保险, 投保, 保额
product: product, item, goods, merchandise, 产品, 商品, 货品, 物品
customer: customer, client, buyer, shopper, purchaser, 客户, 顾客, 买家
order: order, purchase order, 订单, 下单
shop: shop, store, outlet, 商店, 店铺, 门店
branch: branch, outlet, location, 分店, 门店, 分支, 分行
stock: stock, inventory, in stock, 库存, 存货
warehouse: warehouse, depot, 仓库
delivery: shipment, delivery, dispatch, shipped, delivered, ship, deliver, 发货, 配送, 送货, 交付
company: company, firm, business, corporation, enterprise, 公司, 企业
owner: owner, owned by, own, proprietor, possess, 所有者, 拥有, 业主, 主人
founder: founder, founded by, set up by, 创始人, 创办人, 创立者
founding: found, founded, establish, established, set up, inception, 成立, 创立, 建立, 创办, 成立年份
headquarters: headquarters, head office, headquartered in, based in, 总部, 所在地
capital: capital, seat of government, capital city, state capital, 首府, 省会, 州府, 首都
vehicle: vehicle, car, automobile, 汽车, 车辆, 车
aircraft: aircraft, plane, airplane, aeroplane, jet, 飞机, 机型
passenger: passenger, traveller, traveler, rider, 乘客, 旅客
route: route, line, 路线, 线路, 航线
station: station, stop, 车站, 站, 站点
ticket: ticket, admission, entrance fee, entry fee, 门票, 入场费, 票价
home: apartment, flat, house, home, residence, dwelling, 公寓, 住宅, 房子, 房屋
rent: rent, lease, monthly rent, rental, 租金, 房租
tenant: tenant, renter, lessee, 租户, 租客
landlord: landlord, letting agent, 房东
animal: animal, creature, 动物
event: event, 活动, 事件
meeting: meeting, appointment, session, 会议, 预约
project: project, programme, initiative, 项目, 工程
task: task, job, assignment, 任务
budget: budget, funding, funds, spend, to spend, money, 预算, 经费, 资金
revenue: revenue, turnover, sales, 营收, 收入, 销售额
profit: profit, earnings, 利润
award: award, prize, honour, honor, medal, 奖项, 奖, 获奖
language: language, tongue, spoken, speak, 语言, 语种
gender: gender, sex, 性别
child: child, kid, son, daughter, offspring, 子女, 孩子, 儿子, 女儿
parent: parent, father, mother, 父母, 父亲, 母亲
sibling: sibling, brother, sister, 兄弟, 姐妹, 兄弟姐妹
width: width, wide, breadth, 宽度, 宽, 多宽
diameter: diameter, across, 直径
brand: brand, manufacturer, maker, make, 品牌, 厂商, 制造商
website: website, site, web site, homepage, url, web page, 网站, 官网, 网址, 主页
description: description, summary, abstract, 简介, 描述, 摘要, 说明
status: status, 状态
quantity: quantity, amount, number of pieces, pieces, 数量, 件数
ingredient: ingredient, made with, 食材, 配料, 原料
chef: chef, cook, cooked by, 厨师, 主厨
latitude: latitude, lat, 纬度
longitude: longitude, lng, lon, 经度
ranking: rank, ranking, 排名, 名次
member: member, membership, 成员, 会员
leader: leader, head, chief, chair, president, run, run by, in charge of, in charge, led by, 领导, 负责人, 主席, 领导人
mayor: mayor, 市长
software: software, program, app, application, 软件, 程序, 应用
developer: developer, programmer, developed by, built by, 开发者, 开发人员
device: device, machine, equipment, 设备, 机器, 仪器
component: component, part, piece, 零件, 部件, 组件, 配件
defect: defect, fault, error, bug, 缺陷, 故障, 问题
repair: repair, fix, maintenance, 维修, 修理, 保养
guest: guest, visitor, lodger, 客人, 住客, 访客
booking: booking, reservation, reserve, 预订, 预约
trip: trip, tour, journey, 行程, 旅行, 旅程
review: review, feedback, 评论, 点评
period: period, era, epoch, 时期, 时代
continent: continent, 大洲, 洲
province: province, 省份, 省
county level: county, county level, district, county level unit, 县级, 县, 区县, 县级行政区, 县级区划, 县级单位
prefecture level: city, prefecture level, prefecture, prefecture level city, prefecture level unit, 地级市, 地级, 地级行政区, 设区市
township level: township, town, subdistrict, street office, 乡镇, 乡级, 街道, 镇, 乡级行政区
"""
